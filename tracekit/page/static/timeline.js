// The timeline: bars in lanes on a canvas, to scale. Times are microseconds from the first thing seen.
"use strict";
(() => {
  const { duration, range, day, clock, element } = globalThis.tracekit;

  const KINDS = {
    turn: "turn",
    wait: "waiting for the first byte",
    stream: "streaming",
    attempt: "attempt that failed, or one of several",
    retry: "waiting to retry",
    block: "content block",
    schedule: "tool call that did not run, or not yet",
    hidden: "tool, hidden under its stream",
    tool: "tool, exposed",
    permission: "waiting for permission",
    hook: "hook",
    mcp: "MCP call",
    connection: "MCP connection",
    compaction: "compaction",
    agent: "sub-agent",
  };
  const FAILED = "failed";
  const BOUNDARIES = {
    turn: "turn", model_request: "model request", request_attempt: "attempt", retry_wait: "wait before a retry", stream_event: "content block",
    tool_schedule: "tool call", tool_execution: "tool", permission_wait: "permission", hook_reply: "hook", mcp_call: "MCP call",
    mcp_connection: "MCP connection", compaction: "compaction", subagent: "sub-agent",
  };
  const ROW = 15;
  const GAP = 7;
  const MOST_ROWS = 12;
  const AXIS = 22;
  const CHART = 36;
  const OVERVIEW = 34;
  const LEAST = 200; // the narrowest window, in microseconds
  const FOLDED = 4; // idle time is folded where it is so many times longer than what is kept of it
  const TABLE_ROWS = 100;
  const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((n) => [n, n * 1e3]).sort((a, b) => a - b)
    .concat([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800].map((n) => n * 1e6));

  const id = (bar) => `${bar.boundary}\n${bar.key}`;

  class Timeline {
    constructor(root) {
      this.root = root;
      root.tracekit = this;
      this.stage = root.querySelector(".stage");
      this.canvases = ["overview", "axis", "lanes"].map((name) => root.querySelector(`.${name}`));
      this.tip = element("div", { class: "tip", role: "presentation", hidden: "" });
      document.body.append(this.tip);
      this.bars = new Map();
      this.lanes = [];
      this.folds = [];
      this.chosen = null;
      this.tableFrom = 0;
      this.pending = false;
      this.listen();
    }

    // What there is to draw

    load(data, { isStill = false } = {}) {
      const first = !this.view;
      this.origin = Number(BigInt(data.origin_ns) / 1000000n);
      this.isLive = data.is_live;
      this.last = data.last;
      this.isStill = isStill; // a report, whose present is when it was written
      this.clockAt = { us: data.as_of, ms: performance.now() };
      const columns = data.bars;
      const names = Object.keys(columns);
      for (let index = 0; index < columns.key.length; index += 1) {
        const bar = {};
        for (const name of names) bar[name] = columns[name][index];
        this.bars.set(id(bar), bar);
      }
      this.names = data.lanes;
      this.held = data.held;
      this.arrange();
      if (first) {
        this.squeeze = this.worthFolding();
        this.root.querySelector("[data-do=squeeze]").checked = this.squeeze;
        this.arrange();
        this.view = this.whole();
        this.follows = true;
        this.fromHash();
      } else {
        this.keepUp();
      }
      this.root.querySelector(".tools").hidden = false;
      this.legend();
      this.draw();
      this.table();
    }

    // The present has moved on. Who looks at the end keeps looking at it.
    tick() {
      this.keepUp();
      this.draw();
    }

    keepUp() {
      if (!this.follows) return;
      const [from, to] = this.view;
      const end = this.whole()[1];
      this.view = from <= 0 ? [0, end] : [from + end - to, end];
    }

    now() {
      return this.isLive && !this.isStill ? this.clockAt.us + (performance.now() - this.clockAt.ms) * 1e3 : this.isLive ? this.clockAt.us : this.last;
    }

    endOf(bar) {
      return bar.end === null ? Math.max(this.now(), bar.start) : bar.end;
    }

    arrange() {
      const lanes = new Map(this.names.map((name) => [name, []]));
      this.open = 0;
      for (const bar of this.bars.values()) {
        if (bar.end === null) this.open += 1;
        lanes.get(bar.lane)?.push(bar);
      }
      this.turns = (lanes.get("turns") ?? []).slice().sort((a, b) => a.start - b.start);
      this.findFolds();
      let top = 4;
      this.lanes = [];
      for (const [name, bars] of lanes) {
        if (!bars.length) continue;
        const rows = pack(bars.sort((a, b) => a.start - b.start || (b.end ?? Infinity) - (a.end ?? Infinity)));
        this.lanes.push({ name, rows, bars, top, height: rows.length * ROW });
        rows.forEach((row, number) => row.forEach((bar) => { bar.y = top + number * ROW; }));
        top += rows.length * ROW + GAP;
      }
      this.chart = this.held.length > 1 ? { top: top + 2, height: CHART } : null;
      this.height = top + (this.chart ? CHART + GAP + 2 : 0);
      this.overviewMade = "";
      this.hides = new Map();
      for (const bar of this.bars.values()) {
        if (bar.kind !== "hidden" || !bar.part_of) continue;
        const under = `model_request\n${bar.part_of}`;
        if (!this.hides.has(under)) this.hides.set(under, []);
        this.hides.get(under).push(bar);
      }
      for (const bar of this.bars.values()) {
        bar.u0 = this.fold(bar.start);
        bar.u1 = bar.end === null ? null : this.fold(bar.end);
      }
    }

    // Time in which nothing ran, folded

    gaps() {
      const found = [];
      let covered = 0;
      let busy = 0;
      for (const bar of [...this.bars.values()].sort((a, b) => a.start - b.start)) {
        const end = bar.end ?? Math.max(this.last, bar.start);
        if (bar.start > covered) found.push([covered, bar.start]);
        busy += Math.max(0, end - Math.max(covered, bar.start));
        covered = Math.max(covered, end);
      }
      const kept = Math.max(0.5e6, 0.015 * busy);
      return { kept, long: found.filter(([from, to]) => to - from > FOLDED * kept) };
    }

    worthFolding() {
      return this.gaps().long.reduce((sum, [from, to]) => sum + to - from, 0) > 0.4 * this.last;
    }

    findFolds() {
      this.folds = [];
      if (!this.squeeze) return;
      const { kept, long } = this.gaps();
      let saved = 0;
      for (const [from, to] of long) {
        const cut = to - from - kept;
        this.folds.push({ from: from + kept / 2, to: to - kept / 2, saved, cut });
        saved += cut;
      }
    }

    fold(us) {
      let low = 0;
      let high = this.folds.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.folds[middle].from < us) low = middle + 1;
        else high = middle;
      }
      if (!low) return us;
      const fold = this.folds[low - 1];
      return us - fold.saved - Math.min(us - fold.from, fold.cut);
    }

    unfold(u) {
      let at = u;
      for (const fold of this.folds) {
        if (at <= fold.from) break;
        at += fold.cut;
      }
      return at;
    }

    whole() {
      const end = this.isLive && this.open ? this.now() : this.last;
      return [0, Math.max(this.fold(end), 1000) * 1.005];
    }

    // Drawing

    draw() {
      if (this.pending) return;
      this.pending = true;
      requestAnimationFrame(() => {
        this.pending = false;
        this.paint();
      });
    }

    paint() {
      if (!this.view) return;
      const width = this.stage.clientWidth;
      this.gutter = width < 560 ? 74 : 104;
      this.width = width - this.gutter - 8;
      if (this.width < 20) return;
      this.colours ??= colours();
      this.paintLanes(width);
      this.paintAxis(width);
      this.paintOverview(width);
      this.told();
    }

    x(u) {
      return this.gutter + ((u - this.view[0]) * this.width) / (this.view[1] - this.view[0]);
    }

    at(x) {
      return this.view[0] + ((x - this.gutter) * (this.view[1] - this.view[0])) / this.width;
    }

    paintLanes(width) {
      const context = sized(this.canvases[2], width, this.height);
      const c = this.colours;
      this.lanes.forEach((lane, index) => {
        if (index % 2) {
          context.fillStyle = c.stripe;
          context.fillRect(0, lane.top - GAP / 2, width, lane.height + GAP);
        }
      });
      context.save();
      context.beginPath();
      context.rect(this.gutter, 0, this.width, this.height);
      context.clip();
      context.fillStyle = c.folded;
      for (const fold of this.folds) {
        const from = this.x(this.fold(fold.from));
        context.fillRect(from - 2, 0, 4, this.height);
      }
      context.font = `11px ${c.font}`;
      context.textBaseline = "middle";
      this.drawn = 0;
      for (const lane of this.lanes) for (const row of lane.rows) this.paintRow(context, row);
      for (const bars of this.hides.values()) this.paintHidden(context, bars);
      this.paintChosen(context);
      if (this.chart) this.paintHeld(context);
      context.restore();
      context.fillStyle = c.text;
      context.font = `12px ${c.font}`;
      for (const lane of this.lanes) context.fillText(fitted(context, lane.name, this.gutter - 10), 2, lane.top + ROW / 2);
      if (this.chart) context.fillText(fitted(context, "context", this.gutter - 10), 2, this.chart.top + ROW / 2);
    }

    // What each request held of its model's window, until the next.
    paintHeld(context) {
      const { top, height } = this.chart;
      const most = Math.max(...this.held.map(([, tokens, window]) => window ?? tokens));
      const c = this.colours;
      context.fillStyle = c.stripe;
      context.fillRect(this.gutter, top, this.width, height);
      context.fillStyle = c.of("block");
      this.held.forEach(([us, tokens], index) => {
        const next = this.held[index + 1];
        const left = this.x(this.fold(us));
        const right = next ? this.x(this.fold(next[0])) : this.x(this.fold(this.isLive && this.open ? this.now() : this.last));
        if (right < this.gutter || left > this.gutter + this.width) return;
        const tall = (height * tokens) / most;
        context.fillRect(left, top + height - tall, Math.max(right - left, 1), tall);
      });
      const shown = this.held.filter(([us]) => this.fold(us) <= this.view[1]);
      const [, tokens, window] = shown[shown.length - 1] ?? this.held[0];
      const text = `${thousands(tokens)}${window ? ` of ${thousands(window)}` : ""} tokens`;
      context.fillStyle = c.text;
      context.font = `11px ${c.font}`;
      context.fillText(text, this.gutter + this.width - context.measureText(text).width - 4, top + 8);
    }

    // Of bars that are narrower than a pixel and share one, the first is drawn, and every one that failed.
    paintRow(context, row) {
      const [from, to] = this.view;
      let low = 0;
      let high = row.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((row[middle].u1 ?? Infinity) < from) low = middle + 1;
        else high = middle;
      }
      let painted = -1;
      for (let index = low; index < row.length; index += 1) {
        const bar = row[index];
        if (bar.u0 > to) break;
        const left = this.x(bar.u0);
        const right = this.x(this.fold(this.endOf(bar)));
        const failed = bar.status === "error";
        if (right - left < 1.2 && Math.floor(left) <= painted && !failed) continue;
        this.paintLead(context, bar, left, painted + 2);
        painted = Math.floor(Math.max(left, right - 1));
        const next = row[index + 1];
        this.paintBar(context, bar, left, right, next ? this.x(next.u0) : this.gutter + this.width);
        this.drawn += 1;
      }
    }

    paintBar(context, bar, left, right, until) {
      const c = this.colours;
      const y = bar.y + 1;
      const height = ROW - 3;
      const thin = bar.kind === "block" || bar.kind === "attempt";
      const top = thin ? y + 2 : y;
      const tall = thin ? height - 4 : height;
      const edge = Math.max(right, left + 1);
      const first = bar.start + bar.start_slack;
      const last = (bar.end ?? this.endOf(bar)) - bar.end_slack;
      if (first > bar.start || last < this.endOf(bar)) {
        if (edge - left > 3) {
          context.fillStyle = c.hatch(bar.kind, context);
          context.fillRect(left, top, edge - left, tall);
        } else {
          context.globalAlpha = 0.45;
          context.fillStyle = c.of(bar.kind);
          context.fillRect(left, top, edge - left, tall);
          context.globalAlpha = 1;
        }
      }
      if (first <= last) {
        const begins = bar.start_slack ? this.x(this.fold(first)) : left;
        const ends = Math.max(bar.end_slack ? this.x(this.fold(last)) : edge, begins + 1);
        const turns = bar.changes === null ? null : Math.min(Math.max(this.x(this.fold(bar.changes)), begins), ends);
        context.fillStyle = c.of(bar.kind);
        if (bar.kind === "schedule") {
          context.strokeStyle = c.of("schedule");
          context.strokeRect(begins + 0.5, top + 0.5, Math.max(1, ends - begins - 1), tall - 1);
        } else if (turns === null) {
          context.fillRect(begins, top, ends - begins, tall);
        } else {
          context.fillRect(begins, top, turns - begins, tall);
          context.fillStyle = c.of(bar.kind === "wait" ? "stream" : "tool");
          context.fillRect(turns, top, ends - turns, tall);
        }
      }
      if (bar.status === "error") {
        context.fillStyle = c.of(FAILED);
        context.fillRect(left, top + tall - 3, Math.max(edge - left, 2), 3);
        context.fillRect(Math.max(left, edge - 2), top, 2, tall);
      }
      if (bar.end === null) arrow(context, edge, y, height, c.text);
      this.paintLabel(context, bar, Math.max(left, this.gutter), edge, until, y + height / 2 + 0.5);
    }

    // The gap between a tool's block and its start, as far as nothing else stands there.
    paintLead(context, bar, left, free) {
      if (bar.ready === null || bar.ready >= bar.start) return;
      const from = Math.max(this.x(this.fold(bar.ready)), free);
      if (from >= left) return;
      context.fillStyle = this.colours.lead;
      context.fillRect(from, bar.y + ROW / 2 - 1.5, left - from, 2);
    }

    paintLabel(context, bar, left, right, until, y) {
      if (!bar.name || bar.kind === "block" && right - left < 60) return;
      const inside = right - left - 8;
      if (inside > 26) {
        const text = fitted(context, bar.name, inside);
        const plain = bar.kind !== "schedule" && bar.start + bar.start_slack <= this.unfold(this.at(left)) + 1 && !bar.end_slack;
        if (!plain && text) {
          // On a range a name needs a ground of its own.
          context.globalAlpha = 0.82;
          context.fillStyle = this.colours.card;
          context.fillRect(left + 2, y - ROW / 2 + 2, context.measureText(text).width + 4, ROW - 4);
          context.globalAlpha = 1;
        }
        context.fillStyle = plain ? this.colours.on : this.colours.text;
        context.fillText(text, left + 4, y);
      } else if (until - right > 60 && bar.kind !== "block" && bar.kind !== "hook" && bar.kind !== "wait") {
        context.fillStyle = this.colours.faint;
        context.fillText(fitted(context, bar.name, until - right - 10), right + 4, y);
      }
    }

    // Hidden time, drawn where it hides: along the foot of the response that it hid under.
    paintHidden(context, tools) {
      const response = this.bars.get(`model_request\n${tools[0].part_of}`);
      if (!response || response.y === undefined) return;
      context.fillStyle = this.colours.of("hidden");
      for (const tool of tools) {
        const from = Math.max(tool.start, response.start);
        const to = Math.min(this.endOf(tool), tool.changes ?? this.endOf(response), this.endOf(response));
        if (to <= from || this.fold(to) < this.view[0] || this.fold(from) > this.view[1]) continue;
        const sure = Math.min(Math.max(tool.start + tool.start_slack, from), to);
        const y = response.y + ROW - 5;
        context.globalAlpha = 0.4;
        context.fillRect(this.x(this.fold(from)), y, Math.max(this.x(this.fold(to)) - this.x(this.fold(from)), 1), 3);
        context.globalAlpha = 1;
        context.fillRect(this.x(this.fold(sure)), y, Math.max(this.x(this.fold(to)) - this.x(this.fold(sure)), 0), 3);
      }
    }

    paintChosen(context) {
      const bar = this.chosen && this.bars.get(this.chosen);
      if (!bar || bar.y === undefined) return;
      const left = this.x(bar.u0);
      context.strokeStyle = this.colours.chosen;
      context.lineWidth = 2;
      context.strokeRect(left - 2, bar.y - 1, Math.max(this.x(this.fold(this.endOf(bar))) - left, 1) + 4, ROW + 1);
      context.lineWidth = 1;
    }

    paintAxis(width) {
      const context = sized(this.canvases[1], width, AXIS);
      const c = this.colours;
      const length = this.view[1] - this.view[0];
      const step = STEPS.find((one) => (one * this.width) / length > 84) ?? STEPS[STEPS.length - 1];
      context.font = `11px ${c.font}`;
      context.textBaseline = "middle";
      context.fillStyle = c.faint;
      const from = this.unfold(this.view[0]);
      const to = this.unfold(this.view[1]);
      let free = this.gutter;
      for (let at = Math.max(0, Math.floor(from / step) * step), count = 0; at <= to && count < 400; at += step, count += 1) {
        const folded = this.folds.find((fold) => at > fold.from && at < fold.to);
        if (folded) {
          at = Math.floor(folded.to / step) * step;
          continue;
        }
        const x = this.x(this.fold(at));
        const label = at === 0 ? "0" : duration(at);
        if (x < free || x + context.measureText(label).width > width) continue;
        context.fillRect(x, AXIS - 5, 1, 5);
        context.fillText(label, x + 3, AXIS / 2 - 1);
        free = x + context.measureText(label).width + 12;
      }
      for (const fold of this.folds) {
        const x = this.x(this.fold(fold.from));
        if (x < this.gutter || x > this.gutter + this.width) continue;
        context.fillStyle = c.folded;
        context.fillRect(x - 2, 0, 4, AXIS);
        context.fillStyle = c.faint;
      }
      context.fillStyle = c.text;
      context.fillText("since start", 2, AXIS / 2 - 1);
    }

    paintOverview(width) {
      const context = sized(this.canvases[0], width, OVERVIEW);
      const [, end] = this.whole();
      const scale = this.width / end;
      const c = this.colours;
      const made = [width, end, this.bars.size, devicePixelRatio].join();
      if (this.overviewMade !== made) {
        this.overview = document.createElement("canvas");
        this.paintWhole(sized(this.overview, width, OVERVIEW), scale);
        this.overviewMade = made;
      }
      context.drawImage(this.overview, 0, 0, width, OVERVIEW);
      const left = this.gutter + this.view[0] * scale;
      const right = this.gutter + this.view[1] * scale;
      context.fillStyle = c.shade;
      context.fillRect(this.gutter, 0, Math.max(0, left - this.gutter), OVERVIEW);
      context.fillRect(right, 0, Math.max(0, this.gutter + this.width - right), OVERVIEW);
      context.strokeStyle = c.chosen;
      context.strokeRect(left + 0.5, 0.5, Math.max(3, right - left - 1), OVERVIEW - 1);
      context.fillStyle = c.text;
      context.font = `12px ${c.font}`;
      context.textBaseline = "middle";
      context.fillText("whole", 2, OVERVIEW / 2);
    }

    paintWhole(context, scale) {
      const c = this.colours;
      const strips = [["turns", 3, 5], ["model", 10, 6], ["tools", 18, 6], ["sub-agents", 26, 4]];
      context.fillStyle = c.stripe;
      context.fillRect(this.gutter, 0, this.width, OVERVIEW);
      for (const [name, y, height] of strips) {
        const lane = this.lanes.find((one) => one.name === name);
        if (!lane) continue;
        const kind = { turns: "turn", model: "stream", tools: "tool", "sub-agents": "agent" }[name];
        context.fillStyle = c.of(kind);
        let painted = -1;
        for (const bar of lane.bars) {
          const x = this.gutter + bar.u0 * scale;
          const right = this.gutter + this.fold(this.endOf(bar)) * scale;
          if (right <= painted) continue;
          context.fillRect(x, y, Math.max(right - x, 1), height);
          painted = Math.max(painted, Math.floor(right));
        }
      }
      context.fillStyle = c.of(FAILED);
      for (const lane of this.lanes) {
        for (const bar of lane.bars) if (bar.status === "error") context.fillRect(this.gutter + this.fold(this.endOf(bar)) * scale - 1, 0, 2, 3);
      }
    }

    // The window

    show(from, to) {
      const [, end] = this.whole();
      const length = Math.min(Math.max(to - from, LEAST), end);
      const start = Math.min(Math.max(from, 0), end - length);
      this.view = [start, start + length];
      this.follows = start + length >= end - 0.01 * length;
      this.tableFrom = 0;
      this.toHash();
      this.draw();
      this.tableSoon();
    }

    zoom(factor, middle = (this.view[0] + this.view[1]) / 2) {
      const [from, to] = this.view;
      const length = Math.min(Math.max((to - from) * factor, LEAST), this.whole()[1]);
      const part = (middle - from) / (to - from);
      this.show(middle - part * length, middle + (1 - part) * length);
    }

    move(part) {
      const length = this.view[1] - this.view[0];
      this.show(this.view[0] + part * length, this.view[1] + part * length);
    }

    showBar(bar) {
      const from = bar.u0;
      const to = this.fold(this.endOf(bar));
      const room = Math.max((to - from) * 0.4, 20000);
      this.show(from - room, to + room);
    }

    turn(step) {
      if (!this.turns.length) return;
      const middle = this.unfold((this.view[0] + this.view[1]) / 2);
      let index = this.turns.findIndex((turn) => turn.start > middle) - 1;
      if (index < -1) index = this.turns.length - 1;
      const isWhole = this.view[1] - this.view[0] > 0.98 * this.whole()[1];
      const wanted = isWhole ? (step > 0 ? 0 : this.turns.length - 1) : Math.min(Math.max(index + step, 0), this.turns.length - 1);
      const turn = this.turns[wanted];
      const to = this.fold(this.endOf(turn));
      const room = (to - turn.u0) * 0.03;
      this.show(turn.u0 - room, to + room);
      this.say(`Turn ${wanted + 1} of ${this.turns.length}, ${duration(this.endOf(turn) - turn.start)}`);
    }

    told() {
      const [from, to] = this.view.map((u) => this.unfold(u));
      const text = `${clock(this.origin + from / 1e3).slice(0, 8)}, ${duration(to - from)} in view`;
      const place = this.root.querySelector(".window");
      if (place.textContent !== text) place.textContent = text;
    }

    // Choosing

    hit(x, y) {
      const lane = this.lanes.find((one) => y >= one.top - GAP / 2 && y < one.top + one.height + GAP / 2);
      if (!lane || x < this.gutter) return null;
      const row = lane.rows[Math.min(Math.max(Math.floor((y - lane.top) / ROW), 0), lane.rows.length - 1)];
      const u = this.at(x);
      const slop = (3 * (this.view[1] - this.view[0])) / this.width;
      let best = null;
      let distance = slop;
      let low = 0;
      let high = row.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((row[middle].u1 ?? Infinity) < u - slop) low = middle + 1;
        else high = middle;
      }
      for (let index = low; index < row.length && row[index].u0 <= u + slop; index += 1) {
        const bar = row[index];
        const end = bar.u1 ?? this.fold(this.endOf(bar));
        const away = u < bar.u0 ? bar.u0 - u : u > end ? u - end : 0;
        if (away <= distance) {
          best = bar;
          distance = away;
        }
      }
      return best;
    }

    choose(bar, { quiet = false } = {}) {
      this.chosen = bar ? id(bar) : null;
      const place = this.root.querySelector(".chosen");
      place.hidden = !bar;
      if (bar) {
        place.replaceChildren(this.described(bar));
        if (!quiet) this.say(this.sentence(bar));
        this.reveal(bar);
      }
      this.toHash();
      this.draw();
    }

    reveal(bar) {
      if (bar.y < this.stage.scrollTop || bar.y + ROW > this.stage.scrollTop + this.stage.clientHeight) this.stage.scrollTop = bar.y - 40;
    }

    step(across, down) {
      let bar = this.chosen && this.bars.get(this.chosen);
      if (!bar) {
        bar = this.nearest(this.lanes[0], this.view[0]);
      } else if (across) {
        const bars = this.lanes.find((one) => one.name === bar.lane)?.bars ?? [];
        bar = bars[Math.min(Math.max(bars.indexOf(bar) + across, 0), bars.length - 1)];
      } else {
        const index = this.lanes.findIndex((one) => one.name === bar.lane);
        const lane = this.lanes[Math.min(Math.max(index + down, 0), this.lanes.length - 1)];
        bar = this.nearest(lane, bar.u0);
      }
      if (!bar) return;
      const end = this.fold(this.endOf(bar));
      if (end < this.view[0] || bar.u0 > this.view[1]) {
        const length = this.view[1] - this.view[0];
        this.show(bar.u0 - length / 3, bar.u0 + (2 * length) / 3);
      }
      this.choose(bar);
    }

    nearest(lane, u) {
      return lane?.bars.find((bar) => (bar.u1 ?? Infinity) >= u) ?? lane?.bars[lane.bars.length - 1];
    }

    say(text) {
      this.root.querySelector(".spoken").textContent = text;
    }

    lasted(bar) {
      const end = this.endOf(bar);
      const upper = end - bar.start;
      const lower = end - bar.end_slack - (bar.start + bar.start_slack);
      return bar.end === null ? `open for ${range(upper - bar.start_slack, upper)}` : range(lower, upper);
    }

    sentence(bar) {
      const kind = BOUNDARIES[bar.boundary] ?? bar.boundary;
      const state = bar.status === "error" ? ", failed" : bar.status === "cancelled" ? ", cancelled" : "";
      return `${kind} ${bar.name}, ${this.lasted(bar)}${state}, at ${duration(bar.start)}`;
    }

    described(bar) {
      const moment = (us) => `${day(this.origin + us / 1e3)} ${clock(this.origin + us / 1e3)}`;
      const edge = (us, slack, by) => (slack ? `${moment(us - slack)} to ${clock(this.origin + us / 1e3)}` : moment(us)) + (by ? `, by ${by}` : "");
      const rows = [
        ["What", `${BOUNDARIES[bar.boundary] ?? bar.boundary} ${bar.name}`],
        ["Lasted", this.lasted(bar)],
        ["Began", edge(bar.start + bar.start_slack, bar.start_slack, bar.start_by)],
        ["Ended", bar.end === null ? "open" : edge(bar.end, bar.end_slack, bar.end_by)],
        ["Status", bar.status],
        ["Seen by", bar.witnesses],
        ["Key", bar.key],
        ["Part of", bar.part_of ?? "–"],
      ];
      if (bar.ready !== null) rows.splice(3, 0, ["Block complete", `${duration(bar.start + bar.start_slack - bar.ready)} before it began, at most`]);
      if (bar.kind === "hidden") rows.splice(2, 0, ["Hidden", `until ${bar.changes === null ? "its response ends" : moment(bar.changes)}`]);
      if (bar.kind === "wait" && bar.changes !== null) rows.splice(2, 0, ["First byte", `after ${duration(bar.changes - bar.start)}`]);
      const list = element("dl");
      for (const [name, value] of rows) list.append(element("div", {}, element("dt", {}, name), element("dd", {}, element("bdi", {}, value))));
      const zoom = element("button", { type: "button" }, "Zoom to it");
      zoom.addEventListener("click", () => this.showBar(this.bars.get(id(bar)) ?? bar));
      const close = element("button", { type: "button" }, "Close");
      close.addEventListener("click", () => this.choose(null));
      return element("div", {}, list, element("p", { class: "buttons" }, zoom, close));
    }

    hover(event) {
      const box = this.stage.getBoundingClientRect();
      const bar = event && this.hit(event.clientX - box.left, event.clientY - box.top + this.stage.scrollTop);
      this.tip.hidden = !bar;
      this.stage.classList.toggle("on-bar", Boolean(bar));
      if (!bar) return;
      const kind = element("b", {}, element("bdi", {}, bar.name || bar.key));
      const more = bar.kind === "hidden" ? "tool, hidden under its stream at first" : BOUNDARIES[bar.boundary] ?? bar.boundary;
      const lines = [kind, element("span", {}, `${more}: ${this.lasted(bar)}`), element("span", {}, `at ${duration(bar.start)}${bar.status === "error" ? ", failed" : ""}`)];
      this.tip.replaceChildren(...lines);
      const left = Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8);
      const top = event.clientY + 16 + this.tip.offsetHeight > innerHeight ? event.clientY - this.tip.offsetHeight - 10 : event.clientY + 16;
      this.tip.style.left = `${Math.max(4, left)}px`;
      this.tip.style.top = `${top}px`;
    }

    legend() {
      const kinds = new Set();
      let ranges = false;
      for (const bar of this.bars.values()) {
        kinds.add(bar.kind);
        if (bar.kind === "wait") kinds.add("stream");
        if (bar.kind === "hidden") kinds.add("tool");
        if (bar.status === "error") kinds.add(FAILED);
        ranges ||= bar.start_slack > 0 || bar.end_slack > 0;
      }
      const entries = Object.entries({ ...KINDS, [FAILED]: "failed" }).filter(([kind]) => kinds.has(kind));
      const items = entries.map(([kind, meaning]) => element("li", {}, element("span", { class: `key kind-${kind}` }), meaning));
      if (ranges) items.push(element("li", {}, element("span", { class: "key range" }), "only possible: the range of an edge"));
      if (this.open) items.push(element("li", {}, element("span", { class: "key open" }, "▶"), "still open"));
      if (this.folds.length) items.push(element("li", {}, element("span", { class: "key fold" }), "nothing ran here: folded"));
      this.root.querySelector(".legend").replaceChildren(...items);
    }

    // The same as a table

    tableSoon() {
      clearTimeout(this.tableTimer);
      this.tableTimer = setTimeout(() => this.table(), 200);
    }

    table() {
      const place = this.root.querySelector(".in-view");
      if (!place.open || !this.view) return;
      const [from, to] = this.view;
      const bars = [...this.bars.values()].filter((bar) => bar.u0 <= to && (bar.u1 ?? Infinity) >= from).sort((a, b) => a.start - b.start);
      const shown = bars.slice(this.tableFrom, this.tableFrom + TABLE_ROWS);
      const head = ["At", "Lane", "What", "Name", "Lasted", "Status", "Seen by"].map((name) => element("th", { scope: "col" }, name));
      const rows = shown.map((bar) => {
        const link = element("a", { href: `#sel=${encodeURIComponent(bar.key)}` }, element("bdi", {}, bar.name || bar.key));
        const what = bar.kind === "hidden" ? "tool, hidden at first" : BOUNDARIES[bar.boundary] ?? bar.boundary;
        const cells = [duration(bar.start), bar.lane, what, link, this.lasted(bar), bar.status, bar.witnesses];
        return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
      });
      const caption = `${shown.length ? this.tableFrom + 1 : 0} to ${this.tableFrom + shown.length} of ${bars.length} in view`;
      const table = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
      const buttons = element("p", { class: "buttons" });
      for (const [name, step, possible] of [["Earlier", -TABLE_ROWS, this.tableFrom > 0], ["Later", TABLE_ROWS, this.tableFrom + TABLE_ROWS < bars.length]]) {
        if (!possible) continue;
        const button = element("button", { type: "button" }, name);
        button.addEventListener("click", () => {
          this.tableFrom = Math.max(0, this.tableFrom + step);
          this.table();
        });
        buttons.append(button);
      }
      place.querySelector(".wide").replaceChildren(table, buttons);
    }

    // The address

    toHash() {
      const parts = [];
      const isWhole = this.view[0] <= 0 && this.view[1] >= this.whole()[1] - 1;
      if (!isWhole) parts.push(`t=${this.view.map((u) => (this.unfold(u) / 1e6).toFixed(3)).join(",")}`);
      const bar = this.chosen && this.bars.get(this.chosen);
      if (bar) parts.push(`sel=${encodeURIComponent(bar.key)}`);
      clearTimeout(this.hashTimer);
      this.hashTimer = setTimeout(() => {
        const hash = parts.length ? `#${parts.join("&")}` : "";
        if (hash !== location.hash && (hash || /^#(t|sel)=/.test(location.hash))) history.replaceState(null, "", hash || location.pathname + location.search);
      }, 250);
    }

    fromHash() {
      if (!/^#(t|sel)=/.test(location.hash)) return false;
      const named = new URLSearchParams(location.hash.slice(1));
      const key = named.get("sel");
      const bar = key && [...this.bars.values()].find((one) => one.key === key);
      const window = (named.get("t") ?? "").split(",").map(Number);
      if (window.length === 2 && window.every(Number.isFinite)) this.show(...window.map((s) => this.fold(s * 1e6)));
      else if (bar) this.showBar(bar);
      if (bar) this.choose(bar, { quiet: true });
      return Boolean(bar) || window.length === 2;
    }

    // Hands

    listen() {
      const actions = {
        in: () => this.zoom(0.5),
        out: () => this.zoom(2),
        whole: () => this.show(...this.whole()),
        before: () => this.turn(-1),
        after: () => this.turn(1),
      };
      for (const [name, action] of Object.entries(actions)) this.root.querySelector(`[data-do=${name}]`).addEventListener("click", action);
      this.root.querySelector("[data-do=squeeze]").addEventListener("change", (event) => {
        const window = this.view.map((u) => this.unfold(u));
        const isWhole = this.view[1] - this.view[0] > 0.98 * this.whole()[1];
        this.squeeze = event.target.checked;
        this.arrange();
        this.legend();
        this.show(...(isWhole ? this.whole() : window.map((us) => this.fold(us))));
      });
      this.root.querySelector(".in-view").addEventListener("toggle", () => this.table());
      this.stage.addEventListener("keydown", (event) => this.key(event));
      this.stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      this.stage.addEventListener("dblclick", (event) => this.within(event, (bar) => bar && this.showBar(bar)));
      this.stage.addEventListener("pointerleave", () => this.hover(null));
      this.drag();
      this.brush();
      addEventListener("hashchange", () => {
        if (this.view && this.fromHash()) this.root.scrollIntoView({ block: "start" });
      });
      new ResizeObserver(() => this.draw()).observe(this.stage);
      const dark = matchMedia("(prefers-color-scheme: dark)");
      dark.addEventListener("change", () => this.recolour());
    }

    recolour() {
      this.colours = null;
      this.overviewMade = "";
      this.draw();
    }

    within(event, action) {
      const box = this.stage.getBoundingClientRect();
      return action(this.hit(event.clientX - box.left, event.clientY - box.top + this.stage.scrollTop));
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.view) return;
      const actions = {
        ArrowLeft: () => (event.shiftKey ? this.move(-0.2) : this.step(-1, 0)),
        ArrowRight: () => (event.shiftKey ? this.move(0.2) : this.step(1, 0)),
        ArrowUp: () => this.step(0, -1),
        ArrowDown: () => this.step(0, 1),
        Enter: () => this.chosen && this.showBar(this.bars.get(this.chosen)),
        Escape: () => this.choose(null),
        PageUp: () => this.turn(-1),
        PageDown: () => this.turn(1),
        Home: () => this.show(...this.whole()),
        0: () => this.show(...this.whole()),
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
      };
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    }

    wheel(event) {
      if (!this.view) return;
      const across = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const box = this.stage.getBoundingClientRect();
        this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), this.at(event.clientX - box.left));
      } else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
        event.preventDefault();
        this.move(across / this.width);
      }
    }

    drag() {
      const held = new Map();
      let began = null;
      this.stage.addEventListener("pointerdown", (event) => {
        if (event.button || !this.view) return;
        held.set(event.pointerId, event.clientX);
        began = { x: event.clientX, view: this.view, moved: false, range: event.shiftKey, spread: spread(held) };
      });
      this.stage.addEventListener("pointermove", (event) => {
        if (!held.has(event.pointerId)) {
          this.hover(event);
          return;
        }
        held.set(event.pointerId, event.clientX);
        const per = (began.view[1] - began.view[0]) / this.width;
        if (held.size === 2) {
          const box = this.stage.getBoundingClientRect();
          const middle = [...held.values()].reduce((sum, x) => sum + x, 0) / 2 - box.left;
          this.view = began.view;
          this.zoom(began.spread / Math.max(20, spread(held)), this.at(middle));
          began.moved = true;
        } else if (began.moved || Math.abs(event.clientX - began.x) > 4) {
          if (!began.moved) this.stage.setPointerCapture(event.pointerId);
          began.moved = true;
          this.tip.hidden = true;
          if (!began.range) this.show(began.view[0] - (event.clientX - began.x) * per, began.view[1] - (event.clientX - began.x) * per);
        }
      });
      const done = (event) => {
        if (!held.delete(event.pointerId) || !began) return;
        if (began.range && began.moved && event.type === "pointerup") {
          const box = this.stage.getBoundingClientRect();
          const edges = [began.x, event.clientX].map((x) => this.at(x - box.left)).sort((a, b) => a - b);
          this.show(...edges);
        } else if (!began.moved && event.type === "pointerup") {
          this.within(event, (bar) => this.choose(bar));
        }
      };
      for (const name of ["pointerup", "pointercancel"]) this.stage.addEventListener(name, done);
    }

    brush() {
      const canvas = this.canvases[0];
      let from = null;
      const u = (event) => Math.max(0, ((event.clientX - canvas.getBoundingClientRect().left - this.gutter) * this.whole()[1]) / this.width);
      canvas.addEventListener("pointerdown", (event) => {
        if (!this.view) return;
        from = u(event);
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointermove", (event) => {
        if (from === null) return;
        const to = u(event);
        if (Math.abs(to - from) > this.whole()[1] / 200) this.show(Math.min(from, to), Math.max(from, to));
      });
      canvas.addEventListener("pointerup", (event) => {
        if (from !== null && Math.abs(u(event) - from) <= this.whole()[1] / 200) {
          const half = (this.view[1] - this.view[0]) / 2;
          this.show(from - half, from + half);
        }
        from = null;
      });
    }
  }

  function pack(bars) {
    const rows = [];
    const ends = [];
    for (const bar of bars) {
      const end = bar.end ?? Infinity;
      let row = ends.findIndex((last) => last <= bar.start);
      if (row < 0 && rows.length < MOST_ROWS) {
        row = rows.length;
        rows.push([]);
        ends.push(0);
      } else if (row < 0) {
        row = MOST_ROWS - 1;
      }
      rows[row].push(bar);
      ends[row] = Math.max(ends[row], end);
    }
    return rows;
  }

  function thousands(number) {
    return number.toLocaleString("en-US");
  }

  function spread(held) {
    const [a, b] = held.values();
    return b === undefined ? 1 : Math.max(20, Math.abs(a - b));
  }

  function sized(canvas, width, height) {
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  function fitted(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let length = Math.max(0, Math.floor((text.length * width) / context.measureText(text).width) - 1);
    while (length > 0 && context.measureText(`${text.slice(0, length)}…`).width > width) length -= 1;
    return length > 0 ? `${text.slice(0, length)}…` : "";
  }

  function arrow(context, x, y, height, colour) {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + 6, y + height / 2);
    context.lineTo(x, y + height);
    context.fill();
  }

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    const known = new Map();
    const hatches = new Map();
    const kind = (name) => {
      if (!known.has(name)) known.set(name, of(`kind-${name}`));
      return known.get(name);
    };
    const hatch = (name, context) => {
      if (!hatches.has(name)) {
        const tile = document.createElement("canvas");
        tile.width = tile.height = 8;
        const ink = tile.getContext("2d");
        ink.strokeStyle = kind(name);
        ink.lineWidth = 2;
        for (const shift of [-8, 0, 8]) {
          ink.beginPath();
          ink.moveTo(shift, 8);
          ink.lineTo(shift + 8, 0);
          ink.stroke();
        }
        hatches.set(name, context.createPattern(tile, "repeat"));
      }
      return hatches.get(name);
    };
    return {
      of: kind, hatch, text: of("text"), faint: of("faint"), on: of("on-bar"), stripe: of("stripe"), shade: of("shade"), card: of("card"), chosen: of("accent"),
      folded: of("folded"), lead: of("faint"), font: getComputedStyle(document.body).fontFamily,
    };
  }

  globalThis.tracekit.Timeline = Timeline;
})();
