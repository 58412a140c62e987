// What is alive on a page: the theme, times in the reader's zone, and what changes while somebody looks.
"use strict";
(() => {
  const { Timeline, day, clock } = globalThis.tracekit;
  const LIST_MS = 3000;
  const LIVE_MS = 1000;
  const QUIET_MS = 5000;
  const PARTS_MS = 3000;
  const SHARE = 4; // a look is followed by a pause of at least so many times its length

  const NOW = new Set(["facts", "waiting"]); // the parts that change while nothing new is seen

  const timelines = [];

  // Dark and light

  function theme() {
    const button = document.querySelector("[data-do=theme]");
    if (!button) return;
    button.hidden = false;
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    const tell = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    };
    button.addEventListener("click", () => {
      const chosen = isDark() ? "light" : "dark";
      document.documentElement.dataset.theme = chosen;
      try {
        localStorage.setItem("tracekit-theme", chosen);
      } catch {
        // It holds for this page then.
      }
      tell();
      for (const one of timelines) one.recolour();
    });
    system.addEventListener("change", tell);
    tell();
  }

  // Times

  function localise(root) {
    for (const place of root.querySelectorAll("time[datetime]")) {
      const ms = Date.parse(place.dateTime.replace(/(\.\d{3})\d*Z$/, "$1Z"));
      if (Number.isFinite(ms)) place.textContent = `${day(ms)} ${clock(ms).slice(0, 8)}`;
    }
  }

  // Fragments: written and escaped by the server, or in a report by whoever wrote it

  async function fetched(address) {
    const answer = await fetch(address, { headers: { Accept: "text/html, application/json" }, cache: "no-store" });
    return answer;
  }

  function parsed(text) {
    const place = document.createElement("template");
    place.innerHTML = text;
    localise(place.content);
    return place.content;
  }

  function later(look, pause) {
    let began = 0;
    const again = async () => {
      if (document.hidden) {
        document.addEventListener("visibilitychange", again, { once: true });
        return;
      }
      began = performance.now();
      let wanted = pause;
      try {
        wanted = (await look()) ?? pause;
      } catch {
        wanted = QUIET_MS; // the server is gone, or restarts: what is shown stays
      }
      setTimeout(again, Math.max(wanted, SHARE * (performance.now() - began)));
    };
    setTimeout(again, pause);
  }

  // The list

  function list() {
    const rows = document.getElementById("rows");
    const form = document.querySelector("form.filters");
    if (!rows || !form) return;
    const query = () => new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    const show = async (address) => {
      const answer = await fetched(`/?${address}&part=rows`);
      const content = parsed(await answer.text());
      const within = rows.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      rows.replaceChildren(content);
      if (within) [...rows.querySelectorAll("a")].find((link) => link.getAttribute("href") === within)?.focus();
    };
    const changed = async () => {
      const address = query().toString();
      history.replaceState(null, "", address ? `/?${address}` : "/");
      await show(address);
    };
    let soon = 0;
    form.addEventListener("input", () => {
      clearTimeout(soon);
      soon = setTimeout(changed, 200);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      changed();
    });
    later(() => show(location.search.slice(1)), LIST_MS);
  }

  // A session

  function drawn(root, data, still) {
    const timeline = new Timeline(root);
    timelines.push(timeline);
    timeline.load(data, still);
    return timeline;
  }

  async function follow(root) {
    const source = root.dataset.source;
    const answer = await fetched(source);
    const data = await answer.json();
    if (!answer.ok) return;
    const timeline = drawn(root, data);
    let { stamp } = data;
    let wanted = false;
    let whole = performance.now();
    grow(timeline);
    later(async () => {
      // What had ended a while ago seldom changes: it is asked for again from time to time only.
      const isWhole = performance.now() - whole > 30000;
      const open = [...timeline.bars.values()].filter((bar) => bar.end === null).map((bar) => bar.start);
      const after = Math.max(0, Math.min(timeline.last - 20e6, ...open));
      const news = await (await fetched(`${source}?stamp=${encodeURIComponent(stamp)}${isWhole ? "" : `&after=${Math.floor(after)}`}`)).json();
      if (news.error) return QUIET_MS;
      if (!news.is_same) {
        stamp = news.stamp;
        if (isWhole) {
          whole = performance.now();
          timeline.bars.clear();
        }
        const before = [timeline.last, timeline.bars.size, timeline.open].join();
        timeline.load(news);
        wanted ||= isWhole || before !== [timeline.last, timeline.bars.size, timeline.open].join();
      }
      return timeline.isLive ? LIVE_MS : QUIET_MS;
    }, LIVE_MS);
    let waited = timeline.open;
    later(async () => {
      if (timeline.open || waited) await parts((name) => NOW.has(name));
      waited = timeline.open;
    }, PARTS_MS);
    later(async () => {
      if (!wanted) return;
      wanted = false;
      await parts((name) => !NOW.has(name));
    }, PARTS_MS);
  }

  function grow(timeline) {
    // What is open grows: ten times a second is enough for eyes.
    setInterval(() => {
      if (!document.hidden && timeline.isLive && timeline.open) timeline.tick();
    }, 100);
  }

  async function parts(isWanted) {
    const session = document.querySelector("main.session").dataset.session;
    for (const place of document.querySelectorAll(".part[data-part]")) {
      const name = place.dataset.part;
      if (!isWanted(name) || place.contains(document.activeElement)) continue; // nobody loses their place
      const answer = await fetched(`/sessions/${session}/parts/${name}`);
      if (answer.ok) place.replaceWith(parsed(await answer.text()));
    }
  }

  function session() {
    for (const root of document.querySelectorAll(".timeline[data-source]")) {
      const source = root.dataset.source;
      if (source.startsWith("#")) drawn(root, JSON.parse(document.querySelector(source).textContent), { isStill: true });
      else follow(root);
    }
  }

  theme();
  localise(document);
  document.addEventListener("DOMContentLoaded", () => localise(document));
  list();
  session();
})();
