// The application: it reads the scene, stores the state of the page, and draws the page when the state has changed.
import { Palette } from "./colours.js";
import { colouringsOf, dataOf, paintOf } from "./colouring.js";
import { between, centreThatShows, distance, gap, mobiusAdd, seenFrom, transported } from "./geometry.js";
import { byId } from "./dom.js";
import { optional, Points, scattered } from "./points.js";
import { Model } from "./model.js";
import { Disk } from "./disk.js";
import { Haste } from "./haste.js";
import { Filter } from "./filter.js";
import { insideCurve, Selection } from "./selection.js";
import { factsOf, fillCard, placeBeside } from "./card.js";
import { Camera } from "./camera.js";
import { MOST_LETTERS, Past, readText, textOf, withSelected, writeAddress } from "./address.js";
import { Panel } from "./panel.js";
import { Pencil } from "./pencil.js";
import { Search } from "./search.js";
import { readRuns } from "./runs.js";
import { Theme } from "./theme.js";
import { Host } from "./host.js";
import { listen } from "./input.js";
import { askForPicture, paperOf, pngOf, svgOf } from "./picture.js";
import { csvOf } from "./csv.js";
import { countsOf } from "./legend.js";
import { MOST_ZOOM, View } from "./view.js";

// Time in milliseconds without a change after which the page is drawn in full detail.
const REST = 120;
// Time in milliseconds after which drawing in full detail pauses. A movement that begins meanwhile waits at most for
// this time and for one slice in stamps.js, which together take less than a frame of the display.
const WHILE = 8;
// Zoom factor of the buttons and keys.
const ZOOM_STEP = 1.35;
// Number of frames whose drawing times are kept for tests.
const MOST_FRAMES_KEPT = 1000;

class App {
  constructor(scene) {
    this.scene = scene;
    this.view = new View();
    this.points = Points.of(scene.points);
    this.labels = optional(scene.labels);
    this.edges = optional(scene.edges);
    this.models = scene.models.map((spec) => new Model(spec, scene.root, this.points, scene.plane));
    this.order = scattered(this.points.n);
    this.filter = new Filter(this.points.n);
    this.selection = new Selection(this.points.n);
    this.colourings = colouringsOf(this);
    [this.colouring] = this.colourings;
    Object.assign(this, {
      marked: -1, pinned: -1, pointed: null, isHolding: false, hasKeyboard: false, curve: null, tool: "move", how: "replace",
      showsEach: false, showsEdges: true, showsSupport: scene.known === 2, showsDisagreement: scene.models.length > 1, frames: [], rests: [], isSettled: false, isPrinting: false,
    });
    this.palette = new Palette(scene);
    this.theme = new Theme((isDark) => this.recolour(isDark));
    this.disks = this.models.map((model, k) => new Disk(this, model, k));
    byId("stages").append(...this.disks.map(({ stage }) => stage));
    this.ratio = window.devicePixelRatio || 1;
    this.haste = new Haste(this.points, this.order, this.ratio);
    this.camera = new Camera(this);
    this.pencil = new Pencil(this);
    this.past = new Past();
    this.refresh();
    this.fittedWrongs = this.counts.wrongs;
    this.panel = new Panel(this);
    this.search = new Search(this);
    this.host = new Host(this);
  }

  get shown() {
    return this.filter.shown;
  }

  // Codes of the classes of all points, or of the predicted classes if there are no labels.
  get codes() {
    return this.labels ?? this.models[0].predicted;
  }

  nameOf(i) {
    return this.scene.names?.[i] ?? `point ${i}`;
  }

  // Update everything that depends on labels, predictions, filters and colours.
  refresh() {
    const categories = this.colouring.kind === "category" ? dataOf(this.colouring) : null;
    this.sizes = countsOf(this.codes, this.scene.classes.length);
    this.counts = this.filter.apply({ codes: this.codes, categories, labels: this.labels, models: this.models });
    this.repaint();
  }

  repaint() {
    this.paint = paintOf(this.colouring, this.palette, this.lit());
  }

  // Return a mask of the highlighted points: the group under the pointer, or else the selection; null if there is
  // neither.
  lit() {
    if (this.pointed === null) return this.selection.size > 0 ? this.selection.mask : null;
    const { code, groupOf } = this.pointed;
    return Uint8Array.from(this.order, (_, i) => (groupOf(i) === code ? 1 : 0));
  }

  refilter() {
    this.refresh();
    if (this.marked >= 0 && !this.shown[this.marked]) this.pin(-1);
    else if (this.marked >= 0) fillCard(byId("card"), this, this.marked);
    this.panel.update();
    this.change();
  }

  set(changes) {
    Object.assign(this, changes);
    this.change();
  }

  recolour(isDark) {
    this.palette.update(isDark);
    if (this.panel) this.refilter();
  }

  colourBy(key) {
    this.colouring = this.colourings.find((one) => one.key === key);
    this.filter.hiddenCategories.clear();
    this.palette.weaken(this.colouring.kind !== "class");
    this.pointed = null;
    this.refilter();
  }

  // Highlight the group of a legend under the pointer; null for none.
  point(group) {
    if (group === null && this.pointed === null) return;
    this.pointed = group;
    this.repaint();
    this.change();
  }

  get pointedClass() {
    return this.pointed?.code ?? -1;
  }

  movePoint(model, q) {
    model.movePoint(q);
    this.refilter();
  }

  putBack() {
    this.models.forEach((model) => model.putBack());
    this.refilter();
  }

  // Change the selection, and send it to the embedding page unless the change came from there.
  select(act, { isHeard = false } = {}) {
    act();
    this.repaint();
    this.panel.updateSelection();
    this.change();
    if (!isHeard) this.host.tell(this.selection.indices());
  }

  selectInside(curve, how) {
    this.settle();
    const isMeant = insideCurve(curve, this);
    this.select(() => this.selection.change(isMeant, how));
  }

  toggleSelected(i) {
    if (i >= 0) this.select(() => this.selection.toggle(i));
  }

  // Position on the stage to which keys refer: the middle, or the cursor of a box or a lasso.
  get cursor() {
    return this.tool === "move" ? [this.view.width / 2, this.view.height / 2] : this.pencil.cursor;
  }

  // Set whether the keyboard is in use; if so, its cursor is drawn.
  useKeys(hasKeyboard) {
    this.set({ hasKeyboard });
    this.updateHint();
  }

  updateHint() {
    const hint = byId("hint");
    hint.hidden = !this.hasKeyboard || this.tool === "move";
    hint.textContent = hint.hidden ? "" : this.pencil.hint;
  }

  useTool(name) {
    this.pencil.cancel();
    this.tool = name;
    for (const button of document.querySelectorAll("[data-tool]")) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === name));
    }
    byId("how-row").hidden = name === "move";
    this.updateHint();
    this.change();
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
    this.camera.stop();
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
    this.camera.stop();
    this.view.reset();
    this.change();
  }

  // Fly to a point and pin its card. If the point is hidden, reset the filters first.
  visit(i) {
    if (!this.shown[i]) {
      Object.assign(this.filter, { onlyWrong: false, onlyDisagreement: false, mostConfidence: 1 });
      this.filter.hidden.delete(this.codes[i]);
      this.filter.hiddenCategories.clear();
      this.refilter();
    }
    this.pin(i);
    this.camera.toPoint(i);
  }

  // Show the card of point i; -1 hides the card.
  mark(i) {
    if (i === this.marked) return;
    this.marked = i;
    const card = byId("card");
    card.hidden = i < 0;
    if (i >= 0) fillCard(card, this, i);
    this.drawPens();
  }

  // Show the card of point i until another point is pinned, independently of the pointer; -1 hides the card.
  pin(i) {
    this.pinned = i;
    this.marked = -1;
    byId("card").hidden = true;
    this.mark(i);
    this.drawPens();
  }

  placeCard() {
    if (this.marked < 0) return;
    const card = byId("card");
    const stage = this.disks[0].stage.getBoundingClientRect();
    const [x, y] = this.view.diskToScreen(this.points.seen(this.marked));
    const areas = [[stage.left, stage.top, stage.right, stage.bottom], [0, 0, window.innerWidth, window.innerHeight]];
    const inset = areas.map(([left, top, right, bottom]) => [left + 4, top + 4, right - 4, bottom - 4]);
    const [left, top] = placeBeside([stage.left + x, stage.top + y], [card.offsetWidth, card.offsetHeight], inset);
    card.style.left = `${left}px`;
    card.style.top = `${top}px`;
  }

  // Schedule a frame after a change. The page is drawn with less detail first, and in full detail once nothing changes.
  change() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      this.drawQuickly();
    });
  }

  drawQuickly() {
    const start = performance.now();
    for (const _ of this.drawing(this.haste.settings(this.ratio)));
    const took = performance.now() - start;
    this.haste.learn(took);
    this.frames.push(took);
    if (this.frames.length > MOST_FRAMES_KEPT) this.frames.shift();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.comeToRest(), REST);
  }

  // Draw the page in full detail, in short periods, so that the next movement does not have to wait. `before` is the
  // time that earlier periods took.
  comeToRest(atATime = WHILE, drawing = this.drawing(this.haste.whole(this.ratio)), before = 0) {
    const start = performance.now();
    let isDone = false;
    while (!isDone && performance.now() - start < atATime) isDone = drawing.next().done;
    const took = before + performance.now() - start;
    if (!isDone) {
      this.rest = setTimeout(() => this.comeToRest(atATime, drawing, took), 0);
      return;
    }
    this.rest = undefined;
    this.rests.push(took);
    if (!this.camera.isFlying) this.remember();
  }

  // Draw all disks. A generator that yields from time to time.
  *drawing(settings) {
    settings.places.moveInto(this.view);
    this.isSettled = settings.places === this.points;
    if (this.marked >= 0) this.points.moveInto(this.view, this.marked, this.marked + 1);
    for (const disk of this.disks) {
      disk.model.support?.moveInto(this.view);
      yield* disk.drawing(settings);
    }
    this.placeCard();
  }

  // Compute the positions of all points in the view. While the view moves, they are computed only for a sample.
  settle() {
    if (!this.isSettled) this.points.moveInto(this.view);
    this.isSettled = true;
  }

  drawPens() {
    if (this.disks.some((disk) => disk.pen.width === 0)) return;
    this.disks.forEach((disk) => disk.drawPen());
    this.placeCard();
  }

  // Write the current view and selection to the URL, and add them to the history.
  remember() {
    const { view, filter, colouring, selection, ownSelection } = this;
    const text = textOf({
      centre: view.centre, zoom: view.zoom, shift: view.shift, colour: colouring.key, hidden: [...filter.hidden],
      onlyWrong: filter.onlyWrong, onlyDisagreement: filter.onlyDisagreement, mostConfidence: filter.mostConfidence,
    });
    this.past.note(text, selection.text);
    const isKept = selection.text === ownSelection || selection.text.length <= MOST_LETTERS;
    writeAddress(isKept && selection.text !== ownSelection ? withSelected(text, selection.text) : text);
    byId("left-out").hidden = isKept;
    this.updateSteps();
  }

  updateSteps() {
    byId("undo").disabled = !this.past.canUndo;
    byId("redo").disabled = !this.past.canRedo;
  }

  step(many) {
    const { view, selected } = this.past.step(many);
    this.open(withSelected(view, selected));
    this.updateSteps();
  }

  // Show the view and the selection that a text describes, if it is valid. If the text has no selection, restore the
  // selection with which the page was saved.
  open(text) {
    const limits = { nClasses: this.scene.classes.length, nPoints: this.points.n, mostZoom: MOST_ZOOM };
    const found = readText(text, { keys: this.colourings.map(({ key }) => key), ...limits });
    if (found === null) return;
    this.camera.stop();
    const { centre, zoom, shift, colour, hidden, selected, ...filters } = found;
    this.select(() => this.selection.set(selected ?? readRuns(this.ownSelection, this.points.n)));
    this.view.moveTo(centre);
    Object.assign(this.view, { zoom, shift });
    Object.assign(this.filter, filters);
    this.filter.hidden.clear();
    hidden.forEach((code) => this.filter.hidden.add(code));
    this.colourBy(colour);
  }

  resize() {
    const { width, height } = this.disks[0].stage.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    const isSame = width === this.view.width && height === this.view.height && ratio === this.ratio;
    if (width === 0 || height === 0 || isSame) return;
    this.ratio = ratio;
    this.disks.forEach((disk) => disk.resize(width, height, this.ratio));
    this.view.resize(width, height);
    this.drawQuickly();
  }

  start() {
    for (const disk of this.disks) {
      listen(disk, this);
      new ResizeObserver(() => this.resize()).observe(disk.stage);
    }
    for (const [id, action] of Object.entries({
      "zoom-in": () => this.zoomIn(),
      "zoom-out": () => this.zoomOut(),
      reset: () => this.reset(),
      undo: () => this.step(-1),
      redo: () => this.step(1),
      picture: () => askForPicture(this),
      theme: () => this.theme.switch(),
      help: () => byId("help-text").showModal(),
    })) {
      byId(id).addEventListener("click", action);
    }
    for (const button of document.querySelectorAll("[data-tool]")) {
      button.addEventListener("click", () => this.useTool(button.dataset.tool));
    }
    document.addEventListener("keydown", (event) => this.pressAnywhere(event));
    window.addEventListener("hashchange", () => this.open(window.location.hash.slice(1)));
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    window.matchMedia("print").addEventListener("change", ({ matches }) => this.print(matches));
    this.useTool("move");
    this.selection.set(JSON.parse(byId("selection").textContent));
    this.ownSelection = this.selection.text;
    this.repaint();
    this.panel.updateSelection();
    this.resize();
    this.open(window.location.hash.slice(1));
    this.remember();
    this.started = performance.now();
  }

  // Undo with Ctrl+Z and redo with Ctrl+Shift+Z, except in text fields.
  pressAnywhere(event) {
    const isWriting = event.target.matches("input[type=search], input[type=number]");
    if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || isWriting) return;
    event.preventDefault();
    this.step(event.shiftKey ? 1 : -1);
  }

  // Use the light theme for printing, and replace the stages with pictures.
  print(isBeginning) {
    if (isBeginning === this.isPrinting) return;
    this.isPrinting = isBeginning;
    if (isBeginning) this.screenTheme = this.theme.chosen;
    document.documentElement.classList.toggle("paper", isBeginning);
    this.theme.choose(isBeginning ? "light" : this.screenTheme);
    byId("paper").replaceChildren(...(isBeginning ? paperOf(this) : []));
  }
}

const app = new App(JSON.parse(byId("scene").textContent));
app.start();

function isResting() {
  return app.pending === undefined && app.rest === undefined && !app.camera.isFlying;
}

// Interface for tests.
window.hyplearnExplorer = Object.freeze({
  geometry: Object.freeze({ between, centreThatShows, distance, gap, mobiusAdd, seenFrom, transported }),
  screen: (x) => app.view.dataToScreen(x),
  state: () => ({
    centre: [...app.view.centre], zoom: app.view.zoom, shift: [...app.view.shift], counts: { ...app.counts },
    marked: app.marked, pinned: app.pinned, isWhatIf: app.models[0].isWhatIf, p: app.models[0].referencePoint(),
    colour: app.colouring.key, selection: [...app.selection.indices()], hidden: [...app.filter.hidden], isDark: app.theme.isDark,
  }),
  classOf: (x, y, k = 0) => app.models[k].regionAt(x, y),
  scores: (x, y) => {
    app.models[0].regionAt(x, y);
    return [...app.models[0].decision.scores];
  },
  probabilities: (x, y) => app.models[0].decision.probabilities(x, y),
  distances: (x, y) => app.models[0].decision.distances(x, y),
  facts: (i, k = 0) => factsOf(app, app.models[k], i),
  told: (i, k = 0) => {
    const card = document.createElement("div");
    fillCard(card, app, i);
    return { ...factsOf(app, app.models[k], i), region: app.models[k].regionAt(...app.points.at(i)), text: card.textContent };
  },
  values: (key) => Array.from(dataOf(app.colourings.find((one) => one.key === key))),
  styles: () => app.palette.styles,
  ramp: () => app.palette.ramp,
  mark: (i) => app.mark(i),
  select: (rows) => app.select(() => app.selection.set(rows)),
  csv: () => csvOf(app, app.selection.indices()),
  svg: (pixels) => svgOf(app, pixels).text(),
  png: (pixels) => pngOf(app, pixels).then((blob) => blob.size),
  drawQuickly: () => app.drawQuickly(),
  frames: () => [...app.frames],
  rests: () => [...app.rests],
  started: () => app.started,
  isResting: () => isResting(),
  // If nothing moves, draw the page in full detail now instead of waiting for the rest period.
  hurry: () => {
    if (app.pending === undefined && app.rest !== undefined && !app.camera.isFlying) {
      clearTimeout(app.rest);
      app.comeToRest(Infinity);
    }
    return isResting();
  },
});
