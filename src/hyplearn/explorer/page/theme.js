// Light or dark: as the page around this one says, or its address, or the system; or as the reader chose.

const dark = window.matchMedia("(prefers-color-scheme: dark)");

export class Theme {
  constructor(changed) {
    this.changed = changed;
    this.chosen = known(new URLSearchParams(window.location.search).get("theme"));
    this.around = surrounding();
    dark.addEventListener("change", () => this.apply());
    if (this.around) {
      const watch = new MutationObserver(() => this.apply());
      watch.observe(this.around, { attributes: true, attributeFilter: ["data-theme"] });
    }
    this.apply();
  }

  get isDark() {
    const name = this.chosen ?? known(this.around?.dataset.theme);
    return name === null ? dark.matches : name === "dark";
  }

  choose(name) {
    this.chosen = known(name);
    this.apply();
  }

  switch() {
    this.choose(this.isDark ? "light" : "dark");
  }

  apply() {
    document.documentElement.dataset.theme = this.isDark ? "dark" : "light";
    this.changed(this.isDark);
  }
}

function known(name) {
  return name === "light" || name === "dark" ? name : null;
}

// The body of the page around this frame, whose switch sets data-theme; null if there is none that may be read.
function surrounding() {
  try {
    return window.parent === window ? null : window.parent.document.body;
  } catch {
    return null;
  }
}
