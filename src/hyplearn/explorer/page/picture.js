// Save the view and its legend as a picture of any size, as pixels (PNG) or as vector graphics (SVG).
import { cssOf } from "./colours.js";
import { contours } from "./contour.js";
import { rangeOf, dataOf } from "./colouring.js";
import { byId, download, element, grouped, short, svgElement } from "./dom.js";
import { imageOf, painting } from "./disk.js";
import { drawOverlay } from "./overlay.js";
import { traceShape } from "./shapes.js";
import { radiusOf, shrunk } from "./stamps.js";
import { SvgPen } from "./svg.js";

// Sizes in the legend, in pixels: height of a line, height of the heading, width, and distance from the disk. LETTERS
// is the maximum number of characters of a name.
const LINE = 22;
const HEAD = 52;
const LEGEND = 230;
const GAP = 12;
const LETTERS = 28;
const FONT = "13px system-ui, sans-serif";
// Side length in pixels of the cells from which regions are composed. Cells on a boundary are cut exactly along it.
const CELL = 4;
// Largest radius at which the predicted class is evaluated. Positions farther out are moved inwards.
const INSIDE = 0.99999;
// Side length of a printed disk in CSS pixels (17 cm), and number of image pixels per CSS pixel (300 per inch).
const PAPER = 640;
const PAPER_RATIO = 3;

// Return the layout of the picture: the disks are side by side, with the legend on the right.
function layoutOf(app) {
  const { view, scene, filter } = app;
  const entries = scene.classes.map((name, code) => ({ name, code })).filter(({ code }) => !filter.hidden.has(code));
  const width = app.disks.length * view.width + LEGEND;
  const bar = app.colouring.kind === "class" ? 0 : 3 + (app.colouring.categories?.length ?? 0);
  return { width, height: Math.max(view.height, HEAD + LINE * (entries.length + bar + 1)), entries, legend: app.disks.length * view.width + GAP };
}

const shortened = (text) => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text);

// Draw the title and the classes and, if points are coloured by something else, its categories or its colour bar.
function drawLegend(pen, app, { entries, legend }) {
  const { palette, scene, colouring, sizes } = app;
  let y = 34;
  const line = (text, style) => {
    if (style) {
      pen.beginPath();
      traceShape(pen, style.shape, legend + 7, y - 4.5, 5);
      pen.fillStyle = cssOf(style.colour);
      pen.fill();
    }
    pen.fillStyle = cssOf(palette.ink);
    pen.fillText(text, legend + (style ? 20 : 0), y);
    y += LINE;
  };
  pen.font = `600 ${FONT}`;
  line(shortened(scene.title));
  pen.font = FONT;
  if (colouring.kind !== "class") {
    line(shortened(colouring.name));
    if (colouring.kind === "number") y = drawBar(pen, app, legend, y);
    else colouring.categories.forEach((name, k) => line(shortened(name), app.paint.styles[k]));
    y += LINE / 2;
  }
  for (const { name, code } of entries) line(`${shortened(name)} (${grouped(sizes[code])})`, palette.styles[code]);
}

function drawBar(pen, { palette, colouring }, x, y) {
  const steps = palette.ramp.filter((_, k) => k % 8 === 0);
  const width = 160 / steps.length;
  steps.forEach((colour, k) => {
    pen.beginPath();
    for (const [dx, dy] of [[0, -12], [width + 0.4, -12], [width + 0.4, 0], [0, 0]]) pen.lineTo(x + k * width + dx, y + dy);
    pen.closePath();
    pen.fillStyle = cssOf(colour);
    pen.fill();
  });
  const [low, high] = rangeOf(dataOf(colouring)).map(short);
  pen.fillStyle = cssOf(palette.ink);
  pen.fillText(low, x, y + 16);
  pen.fillText(high, x + 160 - 7 * high.length, y + 16);
  return y + 2 * LINE;
}

export function pngOf(app, pixels) {
  app.settle();
  const layout = layoutOf(app);
  const { view, palette } = app;
  const scale = pixels / layout.width;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(pixels);
  canvas.height = Math.round(layout.height * scale);
  const context = canvas.getContext("2d");
  context.fillStyle = cssOf(palette.ground);
  context.fillRect(0, 0, canvas.width, canvas.height);
  app.disks.forEach((disk, k) => context.drawImage(pictureOf(disk, view, scale), Math.round(k * view.width * scale), 0));
  context.setTransform(scale, 0, 0, scale, 0, 0);
  drawLegend(context, app, layout);
  return new Promise((done) => canvas.toBlob(done));
}

// Return a picture of a disk in the given view, with `ratio` pixels per CSS pixel.
function pictureOf(disk, view, scale) {
  const { haste, paint } = disk.app;
  const image = imageOf(Math.round(view.width * scale), Math.round(view.height * scale));
  for (const _ of painting(image, disk, view, haste.whole(scale), paint));
  const canvas = element("canvas", { width: image.width, height: image.height });
  const context = canvas.getContext("2d");
  context.putImageData(image.data, 0, 0);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  drawOverlay(context, disk, view);
  return canvas;
}

// Return pictures of the disks for printing, which do not depend on the size of the window. If there are two models,
// each picture has the name of its model.
export function paperOf(app) {
  app.settle();
  const view = app.view.resized(PAPER, PAPER);
  return app.disks.map((disk) => {
    const caption = app.disks.length > 1 ? [element("figcaption", { text: disk.model.name })] : [];
    return element("figure", {}, ...caption, pictureOf(disk, view, PAPER_RATIO));
  });
}

export function svgOf(app, pixels) {
  app.settle();
  const layout = layoutOf(app);
  const { view, palette } = app;
  const { width, height } = layout;
  const size = { width: pixels, height: Math.round((height * pixels) / width), viewBox: `0 0 ${width} ${height}` };
  const root = svgElement("svg", size);
  const pen = new SvgPen(root);
  pen.add("rect", { width, height, fill: cssOf(palette.ground) });
  app.disks.forEach((disk, k) => {
    pen.within({ transform: `translate(${k * view.width} 0)` }, () => {
      pen.save();
      pen.beginPath();
      for (const corner of [[0, 0], [view.width, 0], [view.width, view.height], [0, view.height]]) pen.lineTo(...corner);
      pen.clip();
      drawRegions(pen, disk, view);
      drawPoints(pen, app, view);
      drawOverlay(pen, disk, view);
      pen.restore();
    });
  });
  drawLegend(pen, app, layout);
  return new Blob([new XMLSerializer().serializeToString(root)], { type: "image/svg+xml" });
}

function drawRegions(pen, { app: { palette }, model: { decision }, other }, view) {
  const dataAt = (x, y) => {
    const [u, v] = view.screenToDisk([x, y]);
    const length = Math.hypot(u, v);
    const factor = length > INSIDE ? INSIDE / length : 1;
    return view.diskToData([factor * u, factor * v]);
  };
  const codeAt = (x, y) => decision.codeOf(dataAt(x, y));
  pen.save();
  pen.beginPath();
  pen.arc(...view.middle, view.scale, 0, 2 * Math.PI);
  pen.clip();
  const { fills, lines } = contours(codeAt, view.width, view.height, CELL);
  for (const [code, d] of fills) {
    const fill = cssOf(palette.tints[code]);
    // A thin line of the same colour covers the gaps between cells.
    pen.add("path", { d, fill, stroke: fill, "stroke-width": 0.5 });
  }
  if (other) drawDisputed(pen, palette, (x, y) => (codeAt(x, y) === other.decision.codeOf(dataAt(x, y)) ? 0 : 1), view);
  if (decision.arc() === null && lines !== "") {
    const isPair = decision.scores?.length === 2;
    pen.add("path", { d: lines, fill: "none", stroke: cssOf(isPair ? palette.ink : palette.disk), "stroke-width": 1.4, "stroke-linecap": "round" });
  }
  pen.restore();
}

// Draw stripes where two models disagree.
function drawDisputed(pen, palette, isDisputed, view) {
  const id = `stripes-${Math.random().toString(36).slice(2)}`;
  const stripes = { id, width: 14, height: 14, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  pen.add("pattern", stripes).append(svgElement("rect", { width: 7, height: 14, fill: cssOf(palette.ink), opacity: 0.3 }));
  pen.add("path", { d: contours(isDisputed, view.width, view.height, CELL).fills.get(1) ?? "", fill: `url(#${id})` });
}

// Draw the points, with one path per style. As in the disk, highlighted points are drawn last.
function drawPoints(pen, app, view) {
  const { points, shown, order, paint, palette } = app;
  const largest = radiusOf(points.n, view.zoom);
  for (const isBright of paint.isLit === null ? [true] : [false, true]) {
    const paths = paint.styles.map(() => new SvgPen(null));
    for (const i of order) {
      if (shown[i] === 0 || (paint.isLit !== null && (paint.isLit[i] === 1) !== isBright)) continue;
      const [x, y] = view.diskToScreen(points.seen(i));
      const radius = shrunk(largest, points.seenGap[i]);
      if (x < -9 || y < -9 || x > view.width + 9 || y > view.height + 9) continue;
      traceShape(paths[paint.index[i]], paint.shapes[paint.index[i]], x, y, radius);
    }
    paths.forEach(({ path }, code) => {
      const { colour } = paint.styles[code];
      const edge = { stroke: cssOf(palette.disk), "stroke-width": 0.6 };
      if (path !== "") pen.add("path", { d: path, fill: cssOf(isBright ? colour : palette.faded(colour)), ...edge });
    });
  }
}

// Show the dialog that asks for the kind and the size of the picture.
export function askForPicture(app) {
  const dialog = byId("keep");
  byId("keep-save").onclick = async () => {
    const pixels = Math.min(10000, Math.max(200, Number(byId("keep-width").value) || 1600));
    const kind = byId("keep-kind").value;
    download(kind === "svg" ? svgOf(app, pixels) : await pngOf(app, pixels), `hyplearn-explorer.${kind}`);
    dialog.close();
  };
  dialog.showModal();
}
