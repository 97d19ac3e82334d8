// Light or dark theme. It is chosen by the reader or in the URL, or else taken from the embedding page or the system.

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

// Return the body of the embedding page, whose data-theme attribute is the theme; null if it cannot be accessed.
function surrounding() {
  try {
    return window.parent === window ? null : window.parent.document.body;
  } catch {
    return null;
  }
}
