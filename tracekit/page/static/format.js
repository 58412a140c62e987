// Numbers for eyes, written as the terminal writes them. Times are microseconds.
"use strict";
(() => {
  const S = 1e6;

  function duration(us) {
    if (us === null || us === undefined) return "–";
    if (us < 0) return "-" + duration(-us);
    if (us === 0) return "0 s";
    const seconds = us / S;
    if (seconds >= 59.95) {
      const whole = Math.round(seconds);
      const minutes = Math.round(seconds / 60);
      const hours = Math.round(seconds / 3600);
      const two = (number) => String(number).padStart(2, "0");
      if (whole < 3600) return `${Math.floor(whole / 60)} m ${two(whole % 60)} s`;
      if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`;
      return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
    }
    if (us >= 0.9995 * S) return `${(us / S).toFixed(us / S >= 9.995 ? 1 : 2)} s`;
    if (us >= 999.5) return `${(us / 1e3).toFixed(us / 1e3 >= 9.95 ? 0 : 1)} ms`;
    return `${Math.round(us)} µs`;
  }

  function range(lower, upper) {
    return lower === upper ? duration(upper) : `${duration(Math.max(0, lower))} – ${duration(upper)}`;
  }

  const two = (number) => String(number).padStart(2, "0");

  function day(ms) {
    const at = new Date(ms);
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  }

  function clock(ms) {
    const at = new Date(ms);
    return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  }

  function element(tag, named = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(named)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  globalThis.tracekit = { duration, range, day, clock, element };
})();
