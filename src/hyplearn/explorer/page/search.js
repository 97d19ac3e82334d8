// Search for a point by its name, in a field with suggestions (the ARIA combobox pattern).
import { byId, element } from "./dom.js";

// Maximum number of suggestions.
const MOST = 8;

// Return rows whose names contain a text; names that begin with the text come first.
export function matches(names, text) {
  const begins = [];
  const contains = [];
  for (let i = 0; i < names.length && begins.length < MOST; i++) {
    const at = names[i].indexOf(text);
    if (at === 0) begins.push(i);
    else if (at > 0 && contains.length < MOST) contains.push(i);
  }
  return [...begins, ...contains].slice(0, MOST);
}

export class Search {
  constructor(app) {
    this.app = app;
    this.field = byId("search");
    this.list = byId("suggestions");
    this.found = [];
    this.active = -1;
    this.field.addEventListener("input", () => this.suggest());
    this.field.addEventListener("keydown", (event) => this.press(event));
    this.field.addEventListener("blur", () => this.close());
    // The event is pointerdown and not click, because the list is closed when the field loses the focus.
    this.list.addEventListener("pointerdown", (event) => {
      const option = event.target.closest("[role=option]");
      event.preventDefault();
      if (option) this.go(Number(option.dataset.row));
    });
  }

  // Names in lower case, computed at the first search. Points without names are called "point 0", "point 1", ...
  get names() {
    const { scene, points } = this.app;
    this.lowered ??= scene.names?.map((name) => name.toLowerCase()) ?? Array.from({ length: points.n }, (_, i) => `point ${i}`);
    return this.lowered;
  }

  suggest() {
    const text = this.field.value.trim().toLowerCase();
    this.found = text === "" ? [] : matches(this.names, text);
    this.active = this.found.length ? 0 : -1;
    const options = this.found.map((i, k) => element("li", { role: "option", id: `suggestion-${k}`, "data-row": i, text: this.app.nameOf(i) }));
    if (text !== "" && options.length === 0) options.push(element("li", { class: "none", text: "No such point" }));
    this.list.replaceChildren(...options);
    this.list.hidden = options.length === 0;
    this.field.setAttribute("aria-expanded", String(!this.list.hidden));
    this.highlight();
  }

  highlight() {
    [...this.list.children].forEach((option, k) => option.setAttribute("aria-selected", String(k === this.active)));
    if (this.active >= 0) this.field.setAttribute("aria-activedescendant", `suggestion-${this.active}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      this.active = (this.active + step + this.found.length) % this.found.length;
      this.highlight();
    } else if (event.key === "Enter" && this.active >= 0) {
      this.go(this.found[this.active]);
    } else if (event.key === "Escape") {
      this.close();
    } else {
      return;
    }
    event.preventDefault();
  }

  close() {
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
  }

  go(i) {
    this.field.value = this.app.nameOf(i);
    this.close();
    this.app.visit(i);
  }
}
