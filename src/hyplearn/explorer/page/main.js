// The page: reads the scene, holds what is seen, and draws it when something has changed.
import { Palette } from "./colours.js";
import { Decision, Table } from "./decision.js";
import { centreThatShows, distance, gap, mobiusAdd, seenFrom, transported } from "./geometry.js";
import { decoded, Points } from "./points.js";
import { haloOf, MANY, pressAll, Stamps } from "./stamps.js";
import { Regions } from "./regions.js";
import { drawOverlay } from "./overlay.js";
import { Filter } from "./filter.js";
import { factsOf, fillCard, placeBeside } from "./card.js";
import { Panel } from "./panel.js";
import { listen } from "./input.js";
import { saveAsPicture } from "./picture.js";
import { View } from "./view.js";

// Rest after which everything is drawn pixel by pixel, in milliseconds.
const REST = 120;
// While things move, a picture that takes longer than this is drawn in larger blocks.
const FLUID = 20;
const MOST_BLOCK = 4;
const ZOOM_STEP = 1.35;

const byId = (id) => document.getElementById(id);
const optional = (array) => (array === null ? null : decoded(array));

class App {
  constructor(scene) {
    this.scene = scene;
    this.view = new View();
    this.palette = new Palette(scene.colours);
    this.points = new Points(decoded(scene.points.x), decoded(scene.points.y));
    this.labels = optional(scene.labels);
    this.fittedPredicted = decoded(scene.predicted);
    this.fittedConfidence = optional(scene.confidence);
    this.codes = this.labels ?? this.fittedPredicted;
    this.edges = optional(scene.edges);
    this.support = scene.support && new Points(decoded(scene.support.x), decoded(scene.support.y));
    this.top = scene.top && {
      ...scene.top, codes: decoded(scene.top.codes), probabilities: decoded(scene.top.probabilities),
    };
    this.fitted = scene.decision
      ? new Decision(scene.decision, scene.root)
      : new Table(scene.table.size, decoded(scene.table.codes));
    this.order = scattered(this.points.n);
    this.filter = new Filter(this.points.n);
    this.showsSupport = scene.known === 2;
    Object.assign(this, { showsEach: false, pointedClass: -1, marked: -1, pinned: -1, isHolding: false, hasKeyboard: false });
    this.block = 1;
    this.frames = [];
    this.findLayers();
    this.useFitted();
    this.fittedWrong = this.counts.wrong;
    this.panel = new Panel(this);
  }

  findLayers() {
    this.stage = byId("stage");
    this.layers = [byId("pixels"), byId("pen")];
    this.contexts = [this.layers[0].getContext("2d", { alpha: false }), this.layers[1].getContext("2d")];
  }

  get shown() {
    return this.filter.shown;
  }

  // The decision as it was fitted, or with p moved.
  useFitted() {
    Object.assign(this, {
      decision: this.fitted, isWhatIf: false, predicted: this.fittedPredicted, confidence: this.fittedConfidence,
    });
    this.counts = this.filter.apply(this);
  }

  movePoint(q) {
    this.decision = this.fitted.through(q);
    this.isWhatIf = true;
    this.predicted = new Uint16Array(this.points.n);
    this.confidence = this.fittedConfidence && new Float32Array(this.points.n);
    const { x, y, gap: gaps } = this.points;
    for (let i = 0; i < this.points.n; i++) {
      this.predicted[i] = this.decision.classOf(x[i], y[i], gaps[i]);
      if (this.confidence) this.confidence[i] = Math.max(...this.decision.probabilities(x[i], y[i], gaps[i]));
    }
    if (this.labels === null) this.codes = this.predicted;
    this.refilter();
  }

  putBack() {
    this.useFitted();
    if (this.labels === null) this.codes = this.predicted;
    this.refilter();
  }

  referencePoint() {
    const { decision, scene } = this;
    return scene.movable || (scene.plane !== null && decision.arc() !== null) ? decision.spec.points[0] : null;
  }

  // Probabilities by class, where known: all of them, or the largest that Python computed.
  probabilitiesOf(i) {
    if (this.top === null) return this.decision.probabilities(...this.points.at(i));
    const { per_point: many, codes, probabilities } = this.top;
    const entries = Array.from({ length: many }, (_, k) => [codes[i * many + k], probabilities[i * many + k]]);
    return Object.fromEntries(entries);
  }

  refilter() {
    this.counts = this.filter.apply(this);
    if (this.marked >= 0 && !this.shown[this.marked]) this.pin(-1);
    else if (this.marked >= 0) fillCard(byId("card"), this, this.marked);
    this.panel.update();
    this.change();
  }

  set(changes) {
    Object.assign(this, changes);
    this.change();
  }

  point(code) {
    this.set({ pointedClass: code });
  }

  pan(x, at) {
    this.view.show(x, at);
    this.mark(this.pinned);
    this.change();
  }

  walk(right, up) {
    const reach = this.view.zoom;
    this.view.walk(right / reach, up / reach);
    this.change();
  }

  zoom(factor, at) {
    this.view.zoomAt(factor, at);
    this.change();
  }

  zoomIn() {
    this.zoom(ZOOM_STEP, [this.view.width / 2, this.view.height / 2]);
  }

  zoomOut() {
    this.zoom(1 / ZOOM_STEP, [this.view.width / 2, this.view.height / 2]);
  }

  reset() {
    this.view.reset();
    this.change();
  }

  // Speak of one point; of none for -1.
  mark(i) {
    if (i === this.marked) return;
    this.marked = i;
    const card = byId("card");
    card.hidden = i < 0;
    if (i >= 0) fillCard(card, this, i);
    this.drawPen();
  }

  // Keep speaking of one point, whatever the pointer does; of none for -1.
  pin(i) {
    this.pinned = i;
    this.marked = -1;
    this.mark(i);
    if (i < 0) byId("card").hidden = true;
    this.drawPen();
  }

  placeCard() {
    if (this.marked < 0) return;
    const card = byId("card");
    const stage = this.stage.getBoundingClientRect();
    const [x, y] = this.view.diskToScreen([this.points.u[this.marked], this.points.v[this.marked]]);
    const areas = [[stage.left, stage.top, stage.right, stage.bottom], [0, 0, window.innerWidth, window.innerHeight]];
    const inset = areas.map(([left, top, right, bottom]) => [left + 4, top + 4, right - 4, bottom - 4]);
    const [left, top] = placeBeside([stage.left + x, stage.top + y], [card.offsetWidth, card.offsetHeight], inset);
    card.style.left = `${left}px`;
    card.style.top = `${top}px`;
  }

  // Something has changed: draw soon, quickly; and once more in full when it rests.
  change() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      this.draw(this.block);
      clearTimeout(this.rest);
      this.rest = setTimeout(() => {
        this.rest = undefined;
        this.draw(1);
      }, REST);
    });
  }

  draw(block) {
    const start = performance.now();
    const [canvas, context] = [this.layers[0], this.contexts[0]];
    const ratio = canvas.width / this.view.width;
    const image = context.createImageData(canvas.width, canvas.height);
    const pixels = new Int32Array(image.data.buffer);
    new Regions(this.view, ratio, this.decision, this.palette).fill(pixels, canvas.width, canvas.height, block);
    this.points.moveInto(this.view);
    pressAll(this.stamps, pixels, this.points, this, this.palette, this.view, ratio, block > 1 && this.points.n > MANY);
    context.putImageData(image, 0, 0);
    this.drawPen();
    const took = performance.now() - start;
    if (block > 1 || took > FLUID) this.adapt(took);
    this.frames.push(took);
    if (this.frames.length > 1000) this.frames.shift();
  }

  adapt(took) {
    if (took > FLUID) this.block = Math.min(MOST_BLOCK, this.block * 2);
    else if (took < FLUID / 3) this.block = Math.max(1, this.block / 2);
  }

  drawPen() {
    this.support?.moveInto(this.view);
    drawOverlay(this.contexts[1], this, this.layers[1].width / this.view.width);
    this.placeCard();
  }

  resize() {
    const { width, height } = this.stage.getBoundingClientRect();
    if (width === 0 || height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    for (const layer of this.layers) {
      layer.width = Math.round(width * ratio);
      layer.height = Math.round(height * ratio);
    }
    this.stamps = new Stamps(this.layers[0].width, this.layers[0].height, haloOf(this.points.n, ratio));
    this.view.resize(width, height);
    this.points.moveInto(this.view);
    this.draw(1);
  }

  start() {
    listen(this.stage, this);
    new ResizeObserver(() => this.resize()).observe(this.stage);
    this.palette.dark.addEventListener("change", () => {
      this.palette.update();
      this.panel.update();
      this.change();
    });
    for (const [id, action] of Object.entries({
      "zoom-in": () => this.zoomIn(),
      "zoom-out": () => this.zoomOut(),
      reset: () => this.reset(),
      picture: () => saveAsPicture(this, this.layers, this.layers[0].width / this.view.width),
      help: () => byId("help-text").showModal(),
    })) {
      byId(id).addEventListener("click", action);
    }
    this.resize();
  }
}

// All numbers below n in an order that mixes neighbours, always the same.
function scattered(n) {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  let seed = 1;
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = seed % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

const app = new App(JSON.parse(byId("scene").textContent));
app.start();

// For tests.
window.hyplearnExplorer = Object.freeze({
  geometry: Object.freeze({ centreThatShows, distance, gap, mobiusAdd, seenFrom, transported }),
  screen: (x) => app.view.dataToScreen(x),
  state: () => ({
    centre: [...app.view.centre], zoom: app.view.zoom, shift: [...app.view.shift], counts: { ...app.counts },
    marked: app.marked, pinned: app.pinned, isWhatIf: app.isWhatIf, p: app.referencePoint(), block: app.block,
  }),
  classOf: (x, y) => app.decision.classOf(x, y, gap(x, y)),
  scores: (x, y) => {
    app.decision.classOf(x, y, gap(x, y));
    return [...app.decision.scores];
  },
  probabilities: (x, y) => app.decision.probabilities(x, y),
  distances: (x, y) => app.decision.distances(x, y),
  facts: (i) => factsOf(app, i),
  told: (i) => {
    const card = document.createElement("div");
    fillCard(card, app, i);
    const [x, y] = app.points.at(i);
    return { ...factsOf(app, i), region: app.decision.classOf(x, y, gap(x, y)), text: card.textContent };
  },
  mark: (i) => app.mark(i),
  frames: () => [...app.frames],
  isResting: () => app.pending === undefined && app.rest === undefined,
});
