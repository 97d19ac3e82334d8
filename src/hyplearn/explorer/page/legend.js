// Legends: a list of classes or categories with their markers and counts, or a colour bar for numbers.
import { cssOf } from "./colours.js";
import { element, grouped, short, swatch } from "./dom.js";
import { only, toggle } from "./filter.js";

const ORDERS = {
  given: () => 0,
  name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
  count: (a, b) => b.count - a.count,
};

export class Legend {
  // `hidden` is the set of the codes of hidden groups; `act` has the functions point(code), changed() and fly(code).
  constructor(list, names, hidden, act) {
    Object.assign(this, { list, hidden, act, order: "given", sought: "" });
    this.groups = names.map((name, code) => ({ name, code, count: 0, item: this.itemOf(name, code) }));
  }

  itemOf(name, code) {
    const button = element("button", { type: "button", class: "group" }, element("span", { class: "mark" }),
      element("span", { class: "name", text: name }), element("span", { class: "count" }));
    button.title = "Click to hide or show; double-click or Shift-click to show only this";
    button.addEventListener("click", (event) => this.choose(code, event));
    const fly = element("button", { type: "button", class: "fly", "aria-label": `Zoom to ${name}`, title: `Zoom to ${name}`, text: "◎" });
    fly.addEventListener("click", () => this.act.fly(code));
    for (const one of [button, fly]) {
      for (const [event, pointed] of [["mouseenter", code], ["focus", code], ["mouseleave", -1], ["blur", -1]]) {
        one.addEventListener(event, () => this.act.point(pointed));
      }
    }
    return element("li", {}, button, fly);
  }

  // A click hides or shows a group; a click with Shift, or a double click, shows only this group. The two clicks of a
  // double click cancel each other.
  choose(code, { detail, shiftKey }) {
    if (!shiftKey) toggle(this.hidden, code);
    if (shiftKey || detail === 2) only(this.hidden, code, this.groups.length);
    this.act.changed();
  }

  arrange({ order = this.order, sought = this.sought } = {}) {
    Object.assign(this, { order, sought: sought.trim().toLowerCase() });
    const found = this.groups.filter(({ name }) => name.toLowerCase().includes(this.sought)).sort(ORDERS[order]);
    this.list.replaceChildren(...found.map(({ item }) => item));
  }

  update(counts, styles) {
    for (const group of this.groups) {
      group.count = counts[group.code];
      const [button] = group.item.children;
      button.setAttribute("aria-pressed", String(!this.hidden.has(group.code)));
      button.querySelector(".mark").replaceChildren(swatch(styles[group.code]));
      button.querySelector(".count").textContent = grouped(group.count);
    }
    if (this.order === "count" || this.list.children.length === 0) this.arrange();
  }
}

// Return a colour bar for numbers from low to high.
export function colourBar(name, [low, high], ramp, missing) {
  const stops = ramp.filter((_, k) => k % 16 === 0 || k === ramp.length - 1).map(cssOf).join(",");
  const bar = element("div", { class: "bar", style: `background:linear-gradient(to right,${stops})` });
  const ends = element("div", { class: "ends" }, element("span", { text: short(low) }), element("span", { text: short(high) }));
  const parts = [bar, ends];
  if (missing > 0) parts.push(element("p", { class: "soft", text: `${grouped(missing)} missing, in grey` }));
  return element("div", { role: "img", "aria-label": `Colours from ${short(low)} to ${short(high)} of ${name}` }, ...parts);
}

export function countsOf(codes, many) {
  const counts = new Array(many).fill(0);
  for (const code of codes) counts[code] += 1;
  return counts;
}
