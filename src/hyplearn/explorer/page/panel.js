// The panel beside the disk, with the title, the legend, the filters and the selection.
import { csvOf } from "./csv.js";
import { dataOf, rangeOf } from "./colouring.js";
import { byId, counted, download, element, grouped, percent } from "./dom.js";
import { colourBar, countsOf, Legend } from "./legend.js";

// Maximum number of classes for which the legend has no search field.
const FEW = 8;
// Phrases that say to which points the accuracies refer.
const OF = { points: "these points", training: "the training points", "held-out": "the held-out points" };

export class Panel {
  constructor(app) {
    this.app = app;
    this.legend = new Legend(byId("legend"), app.scene.classes, app.filter.hidden, this.actions((i) => app.codes[i]));
    this.fillHeader();
    this.fillSwitches();
    this.fillColourings();
    this.fillSelection();
    this.update();
  }

  // Return the actions of a legend; groupOf(i) is the group of point i.
  actions(groupOf) {
    const { app } = this;
    return {
      point: (code) => app.point(code < 0 ? null : { code, groupOf }),
      changed: () => app.refilter(),
      fly: (code) => app.camera.toGroup((i) => groupOf(i) === code && app.shown[i] === 1),
    };
  }

  fillHeader() {
    const { scene, points, models } = this.app;
    byId("title").textContent = scene.title;
    const names = models.map((model) => model.name).join(" and ");
    const model = scene.title === names ? "" : `${names} · `;
    byId("model").textContent = `${model}${counted(points.n, "point")} · ${scene.known} classes`;
    const notes = [];
    if (scene.plane !== null) notes.push(`Projection: ${scene.plane}.`);
    const table = models.find((one) => one.spec.table !== null);
    if (table) {
      const { size } = table.spec.table;
      notes.push(`Regions${models.length > 1 ? ` of ${table.name}` : ""} come from a table of ${size} × ${size} predictions, so they are coarse near the rim.`);
    }
    models.slice(1).filter(({ spec }) => spec.votes !== null).forEach(({ name, spec }) => {
      notes.push(`Regions of ${name} show the most frequent prediction for nearby points. For ${percent(spec.votes)} of the points, this equals their own prediction.`);
    });
    if (scene.labels === null) notes.push("No classes were given, so points are coloured by prediction.");
    if (models.some((one) => one.confidence === null)) notes.push("This classifier has no probabilities.");
    byId("notes").replaceChildren(...notes.map((text) => element("p", { text })));
    byId("bend").textContent = boundaryText(models[0].decision);
    byId("other-colour").textContent = otherColourText(scene, models);
    byId("size").textContent = `The size of this page is ${document.body.dataset.size}. It needs no network.`;
  }

  fillSwitches() {
    const { app } = this;
    const { models, scene } = app;
    byId("each-row").hidden = models.every(({ decision }) => decision.isBinary || !decision.hasDistances);
    byId("support-row").hidden = models.every((model) => model.support === null);
    byId("sure-row").hidden = models[0].confidence === null;
    byId("wrong-row").hidden = scene.labels === null;
    byId("edges-row").hidden = app.edges === null;
    for (const id of ["disagree-row", "disputed-row"]) byId(id).hidden = models.length < 2;
    byId("sure").addEventListener("input", (event) => {
      app.filter.mostConfidence = event.target.value / 100;
      app.refilter();
    });
    const onChange = (id, act) => byId(id).addEventListener("change", (event) => act(event.target.checked));
    onChange("wrong", (checked) => { app.filter.onlyWrong = checked; app.refilter(); });
    onChange("disagree", (checked) => { app.filter.onlyDisagreement = checked; app.refilter(); });
    onChange("support", (checked) => app.set({ showsSupport: checked }));
    onChange("each", (checked) => app.set({ showsEach: checked }));
    onChange("edges", (checked) => app.set({ showsEdges: checked }));
    onChange("disputed", (checked) => app.set({ showsDisagreement: checked }));
    byId("marks-text").hidden = models.every((model) => model.support === null && model.referencePoint() === null);
    byId("key-of-p").hidden = models.every((model) => !model.spec.movable);
    byId("put-back").addEventListener("click", () => app.putBack());
    byId("sort").addEventListener("change", (event) => this.legend.arrange({ order: event.target.value }));
    byId("seek").addEventListener("input", (event) => this.legend.arrange({ sought: event.target.value }));
    byId("arrange").hidden = scene.classes.length <= FEW;
  }

  fillColourings() {
    const { app } = this;
    const options = app.colourings.map(({ key, name }) => element("option", { value: key, text: name }));
    byId("colour").replaceChildren(...options);
    byId("colour").addEventListener("change", (event) => app.colourBy(event.target.value));
  }

  fillSelection() {
    const { app } = this;
    const click = (id, act) => byId(id).addEventListener("click", act);
    click("select-shown", () => app.select(() => app.selection.change((i) => app.shown[i] === 1, "replace")));
    click("invert", () => app.select(() => app.selection.invert(app.shown)));
    click("clear", () => app.select(() => app.selection.set([])));
    click("csv", () => download(new Blob([csvOf(app, app.selection.indices())], { type: "text/csv" }), "hyplearn-selection.csv"));
    byId("how").addEventListener("change", (event) => (app.how = event.target.value));
  }

  // Show the legend of the colouring, unless points are coloured by class.
  showColouring() {
    const { app } = this;
    const { colouring, palette } = app;
    byId("colour").value = colouring.key;
    const data = dataOf(colouring);
    const place = byId("colouring");
    if (colouring.kind === "number") {
      const missing = data.reduce((sum, value) => sum + (Number.isFinite(value) ? 0 : 1), 0);
      place.replaceChildren(colourBar(colouring.name, rangeOf(data), palette.ramp, missing));
    } else if (colouring.kind === "category") {
      const list = element("ul", { class: "legend" });
      const legend = new Legend(list, colouring.categories, app.filter.hiddenCategories, this.actions((i) => data[i]));
      legend.update(countsOf(data, colouring.categories.length), palette.stylesOf(colouring.styles));
      place.replaceChildren(list);
    } else {
      place.replaceChildren();
    }
  }

  // Update the counts, the switches, the legends, the text about a moved p, and the selection.
  update() {
    const { app } = this;
    const { filter, palette, counts, points, models } = app;
    byId("shown").textContent = `Showing ${grouped(counts.shown)} of ${counted(points.n, "point")}`;
    byId("accuracy").replaceChildren(...this.accuracyLines());
    byId("sure").value = 100 * filter.mostConfidence;
    byId("sure-value").textContent = filter.mostConfidence < 1 ? `≤ ${Math.round(100 * filter.mostConfidence)} %` : "all";
    byId("wrong").checked = filter.onlyWrong;
    byId("disagree").checked = filter.onlyDisagreement;
    byId("support").checked = app.showsSupport;
    byId("wrong-count").textContent = counts.wrongs.map(grouped).join(" and ");
    byId("disagree-count").textContent = grouped(counts.disagree);
    this.legend.update(app.sizes, palette.styles);
    this.showColouring();
    const moved = models.find((model) => model.isWhatIf);
    byId("movable").hidden = models.every((model) => !model.spec.movable);
    byId("what-if").hidden = moved === undefined;
    byId("how-to-move").hidden = moved !== undefined;
    if (moved) byId("what-if-text").textContent = this.whatIfText(moved);
    this.updateSelection();
  }

  updateSelection() {
    const { app } = this;
    const { selection, scene } = app;
    byId("selected").textContent = selection.size === 0 ? "No points selected" : `${counted(selection.size, "point")} selected`;
    for (const id of ["clear", "csv"]) byId(id).disabled = selection.size === 0;
    const counts = selection.counts(app.codes, scene.classes.length);
    const lines = counts.map((count, code) => ({ count, code })).filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
    byId("selected-classes").replaceChildren(...lines.map(({ count, code }) =>
      element("li", {}, element("span", { class: "name", text: scene.classes[code] }), element("span", { class: "count", text: grouped(count) }))));
  }

  accuracyLines() {
    const { app } = this;
    const { counts, points, labels, models } = app;
    if (labels === null) return [];
    return models.map((model, k) => {
      const right = percent(1 - counts.wrongs[k] / points.n);
      const text = `${right} of ${OF[app.scene.of]} ${model.isWhatIf ? "classified correctly with p moved" : "classified correctly"}`;
      return element("p", { text: models.length > 1 ? `${model.name}: ${text}` : text });
    });
  }

  whatIfText(model) {
    const { app } = this;
    const { counts, points, labels, models } = app;
    const kept = "What if p were here? The direction of the boundary is transported along; nothing is fitted again.";
    if (labels === null) return kept;
    const k = models.indexOf(model);
    const right = (wrong) => percent(1 - wrong / points.n);
    return `${kept} ${right(counts.wrongs[k])} of ${OF[app.scene.of]} are classified correctly, compared with ${right(app.fittedWrongs[k])} at the fitted p.`;
  }
}

// Explain what it means if the colour of a point differs from the colour of its region.
function otherColourText({ labels }, models) {
  if (labels === null) return "";
  if (models.some((model) => model.spec.votes !== null)) {
    return "Points lie outside the plane of the picture, and regions show the most frequent prediction for nearby points. The card of a point shows its own prediction.";
  }
  const near = models.some((model) => model.spec.table !== null) ? ", unless it is within one cell of the table from the boundary" : "";
  return `A point whose colour differs from the colour of its region is misclassified${near}.`;
}

// Describe the boundary between the regions.
function boundaryText(decision) {
  const arc = decision.arc();
  if (arc?.kind === "hyperplane") return "Their boundary looks curved, but it is a geodesic, a straight line in hyperbolic space.";
  if (arc?.kind === "equidistant") return "All points of their boundary are equally far from a geodesic, a straight line in hyperbolic space.";
  if (arc?.kind === "sphere") return "Their boundary is a circle, whose points are equally far from its centre.";
  if (arc?.kind === "horosphere") return "Their boundary is a horocycle, a circle whose centre is on the rim.";
  return "The prediction changes at the lines between regions.";
}
