// Sets dark or light before anything is painted; without a choice the system's stands.
"use strict";
(() => {
  try {
    const chosen = localStorage.getItem("tracekit-theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing follows the system.
  }
})();
