// One disk of the page, which shows the regions of one model and the points on three canvases.
import { element } from "./dom.js";
import { drawOverlay } from "./overlay.js";
import { Regions } from "./regions.js";
import { haloOf, pressing, Stamps } from "./stamps.js";

const LABEL =
  "The disk of points. Arrow keys move it, plus and minus zoom, 0 resets, Enter describes the point nearest to the middle, X selects it, Escape closes its card. B starts a box, L starts a lasso, and M returns to moving the disk.";

export class Disk {
  constructor(app, model, k) {
    const id = (name) => (k === 0 ? name : `${name}${k + 1}`);
    Object.assign(this, { app, model, images: new Map() });
    this.pixels = element("canvas", { id: id("pixels") });
    this.quick = element("canvas", { id: id("quick") });
    this.pen = element("canvas", { id: id("pen") });
    const isOne = app.models.length === 1;
    const label = isOne ? LABEL : `${model.name}. ${LABEL}`;
    this.stage = element(
      "div",
      { id: id("stage"), class: "stage", tabindex: "0", role: "application", "aria-label": label, "aria-describedby": "shown" },
      this.pixels, this.quick, this.pen,
    );
    if (!isOne) this.stage.append(element("span", { class: "caption", text: model.name }));
    this.contexts = new Map([this.pixels, this.quick].map((canvas) => [canvas, canvas.getContext("2d", { alpha: false })]));
    this.penContext = this.pen.getContext("2d");
  }

  // The other model, if regions where the two models disagree are striped; otherwise null.
  get other() {
    const { models, showsDisagreement } = this.app;
    return showsDisagreement ? models.find((model) => model !== this.model) : null;
  }

  resize(width, height, ratio) {
    this.images.clear();
    for (const canvas of [this.pixels, this.pen]) setSize(canvas, width * ratio, height * ratio);
  }

  // Draw with the given number of device pixels per CSS pixel (settings.ratio): on the canvas with full resolution, or
  // on a coarser canvas above it. This generator yields from time to time, so that drawing can be interrupted.
  *drawing(settings) {
    const { app, pixels, quick } = this;
    const isFull = settings.ratio >= app.ratio;
    const canvas = isFull ? pixels : quick;
    if (!isFull) setSize(quick, app.view.width * settings.ratio, app.view.height * settings.ratio);
    const image = this.imageFor(canvas);
    yield* painting(image, this, app.view, settings, app.paint);
    this.contexts.get(canvas).putImageData(image.data, 0, 0);
    quick.style.visibility = isFull ? "hidden" : "visible";
    this.drawPen();
  }

  // Return the image of a canvas. It is reused for all frames, because a new image per frame would create megabytes of
  // garbage.
  imageFor(canvas) {
    const kept = this.images.get(canvas);
    if (kept?.width === canvas.width && kept.height === canvas.height) return kept;
    const image = imageOf(canvas.width, canvas.height);
    this.images.set(canvas, image);
    return image;
  }

  drawPen() {
    const { app, pen } = this;
    this.penContext.setTransform(app.ratio, 0, 0, app.ratio, 0, 0);
    this.penContext.clearRect(0, 0, pen.width, pen.height);
    drawOverlay(this.penContext, this, app.view);
  }
}

export function imageOf(width, height) {
  const data = new ImageData(width, height);
  return { width, height, data, pixels: new Int32Array(data.data.buffer), stamps: null };
}

// Paint the regions and points of a disk for the given view. A generator that yields from time to time.
export function* painting(image, { app, model, other }, view, { ratio, block, isHasty, rows, places }, paint) {
  const { palette, points } = app;
  const { width, height, pixels } = image;
  const halo = haloOf(points.n, ratio);
  if (image.stamps?.halo !== halo) image.stamps = new Stamps(width, height, halo);
  yield* new Regions(view, ratio, model.decision, palette, other?.decision ?? null).filling(pixels, width, height, block);
  yield* pressing(image.stamps, pixels, {
    places, rows, n: points.n, shown: app.shown, paint, view, ratio, isHasty, ground: palette.packed.disk,
  });
}

function setSize(canvas, width, height) {
  const [w, h] = [Math.round(width), Math.round(height)];
  if (canvas.width === w && canvas.height === h) return;
  canvas.width = w;
  canvas.height = h;
}
