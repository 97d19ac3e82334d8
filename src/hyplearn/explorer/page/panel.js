// The panel beside the disk: what is shown, of which classes, and the filters.
import { cssOf } from "./colours.js";
import { element, percent, swatch } from "./card.js";

const byId = (id) => document.getElementById(id);
const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

export class Panel {
  constructor(app) {
    this.app = app;
    this.legend = byId("legend");
    this.sizes = new Array(app.scene.classes.length).fill(0);
    app.codes.forEach((code) => (this.sizes[code] += 1));
    this.fillHeader();
    this.fillLegend();
    this.fillSwitches();
    this.update();
  }

  fillHeader() {
    const { scene, points, decision } = this.app;
    byId("title").textContent = scene.title;
    const model = scene.title === scene.model ? "" : `${scene.model} · `;
    byId("model").textContent = `${model}${counted(points.n, "point")} · ${scene.known} classes`;
    const notes = [];
    if (scene.plane !== null) notes.push(`A projection. ${scene.plane}.`);
    if (scene.table !== null) {
      notes.push(`Regions are looked up in a table of ${scene.table.size} × ${scene.table.size} predictions: near the rim they are coarse.`);
    }
    if (scene.labels === null) notes.push("No classes were given: colours are predictions.");
    if (scene.confidence === null) notes.push("This classifier has no probabilities.");
    byId("notes").replaceChildren(...notes.map((text) => element("p", { text })));
    byId("bend").textContent = boundaryText(decision);
    byId("other-colour").textContent = otherColourText(scene);
    byId("each-row").hidden = decision.isBinary || !decision.hasDistances;
    byId("support-row").hidden = this.app.support === null;
    byId("sure-row").hidden = scene.confidence === null;
    byId("wrong-row").hidden = scene.labels === null;
  }

  fillLegend() {
    const { scene } = this.app;
    const entries = scene.classes.map((name, code) => {
      const mark = swatch("");
      const count = element("span", { class: "count", text: this.sizes[code].toLocaleString("en") });
      const button = element("button", { type: "button" }, mark, element("span", { class: "name", text: name }), count);
      button.title = "Click to hide or show this class, double-click to show only it";
      button.addEventListener("click", (event) => this.choose(code, event.detail));
      for (const [event, pointed] of [["mouseenter", code], ["focus", code], ["mouseleave", -1], ["blur", -1]]) {
        button.addEventListener(event, () => this.app.point(pointed));
      }
      return element("li", {}, button);
    });
    this.legend.replaceChildren(...entries);
  }

  // A double click is two clicks, which leave the class as it was, and then shows it alone.
  choose(code, clicks) {
    const { filter, scene } = this.app;
    filter.toggle(code);
    if (clicks === 2) filter.only(code, scene.classes.length);
    this.app.refilter();
  }

  fillSwitches() {
    const { app } = this;
    byId("sure").addEventListener("input", (event) => {
      app.filter.mostConfidence = event.target.value / 100;
      app.refilter();
    });
    byId("wrong").addEventListener("change", (event) => {
      app.filter.onlyWrong = event.target.checked;
      app.refilter();
    });
    byId("support").checked = app.showsSupport;
    byId("support").addEventListener("change", (event) => app.set({ showsSupport: event.target.checked }));
    byId("each").addEventListener("change", (event) => app.set({ showsEach: event.target.checked }));
    byId("put-back").addEventListener("click", () => app.putBack());
  }

  // All that changes: counts, pressed buttons, the what-if.
  update() {
    const { app } = this;
    const { filter, palette, counts, points, scene } = app;
    byId("shown").textContent = `Showing ${counts.shown.toLocaleString("en")} of ${counted(points.n, "point")}`;
    byId("accuracy").textContent = this.accuracyText();
    byId("sure-value").textContent = filter.mostConfidence < 1 ? `≤ ${Math.round(100 * filter.mostConfidence)} %` : "all";
    byId("wrong-count").textContent = counts.wrong.toLocaleString("en");
    [...this.legend.querySelectorAll("button")].forEach((button, code) => {
      button.setAttribute("aria-pressed", String(!filter.hidden.has(code)));
      button.querySelector(".swatch").style.background = cssOf(palette.points[code]);
    });
    byId("movable").hidden = !scene.movable;
    byId("what-if").hidden = !app.isWhatIf;
    byId("how-to-move").hidden = app.isWhatIf;
    if (app.isWhatIf) byId("what-if-text").textContent = this.whatIfText();
  }

  accuracyText() {
    const { counts, points, labels, isWhatIf } = this.app;
    if (labels === null) return "";
    const right = percent(1 - counts.wrong / points.n);
    return `${right} of ${OF[this.app.scene.of]} ${isWhatIf ? "right with p moved" : "classified right"}`;
  }

  whatIfText() {
    const { counts, points, labels, fittedWrong } = this.app;
    const kept = "What if p were here? The boundary's direction is carried along; nothing is fitted again.";
    if (labels === null) return kept;
    return `${kept} ${percent(1 - counts.wrong / points.n)} of ${OF[this.app.scene.of]} are right, ${percent(1 - fittedWrong / points.n)} at the fitted p.`;
  }
}

// Whose numbers these are.
const OF = { points: "these points", training: "the training points", "held-out": "the held-out points" };

// What a point on a region of another colour says.
function otherColourText({ labels, plane, decision, table }) {
  if (labels === null) return "";
  if (plane !== null && decision === null) {
    return "Points lie outside the plane of the picture: only a card says what is predicted for a point, its place among the regions does not.";
  }
  const near = table === null ? "" : " unless it is within a cell of the table of the line between them";
  return `A point on a region of another colour is misclassified${near}.`;
}

// What is true of the lines between regions.
function boundaryText(decision) {
  const arc = decision.arc();
  if (arc?.kind === "hyperplane") return "Their boundary looks bent, yet it is a straight line of this space: a geodesic.";
  if (arc?.kind === "equidistant") return "Their boundary is everywhere equally far from a straight line of this space, a geodesic.";
  if (arc?.kind === "sphere") return "Their boundary is a circle: all its points are equally far from its centre.";
  if (arc?.kind === "horosphere") return "Their boundary is a horocycle: a circle whose centre lies on the rim.";
  return "Lines between regions are where the prediction changes.";
}
