// Lines that are drawn above the pixels: rim, edges, boundaries, margins, p, support vectors and marks.
import { cssOf } from "./colours.js";
import { traceBoundary, traceGeodesic } from "./curves.js";

// Maximum number of support vectors that are drawn as rings. If there are more, dots are drawn.
const MOST_RINGS = 200;

// `context` is the context of a canvas, or an SvgPen, which has the methods that are used here.
export function drawOverlay(context, disk, view) {
  const { app, model } = disk;
  const ink = cssOf(app.palette.ink);
  drawRim(context, view, ink);
  context.save();
  context.beginPath();
  context.arc(...view.middle, view.scale, 0, 2 * Math.PI);
  context.clip();
  if (app.edges && app.showsEdges && app.isSettled) drawEdges(context, app, view, ink);
  drawBoundaries(context, app, model, view, ink);
  if (model.support && app.showsSupport) drawSupport(context, app, model, view, ink);
  context.restore();
  drawReference(context, app, model, view, ink);
  if (app.marked >= 0) drawMark(context, app, view, ink);
  if (view === app.view) drawTools(context, app, ink);
}

function drawRim(context, view, ink) {
  context.beginPath();
  context.arc(...view.middle, view.scale, 0, 2 * Math.PI);
  stroke(context, ink, 1.2);
}

function stroke(context, colour, width, { dash = [], alpha = 1 } = {}) {
  context.save();
  context.setLineDash(dash);
  Object.assign(context, { strokeStyle: colour, lineWidth: width, globalAlpha: alpha });
  context.stroke();
  context.restore();
}

function drawEdges(context, { points, edges, shown }, view, ink) {
  context.beginPath();
  for (let k = 0; k < edges.length; k += 2) {
    const [a, b] = [edges[k], edges[k + 1]];
    if (shown[a] && shown[b]) traceGeodesic(context, view, points.seen(a), points.seen(b));
  }
  stroke(context, ink, 0.6, { alpha: 0.35 });
}

function drawBoundaries(context, app, model, view, ink) {
  const { palette, scene } = app;
  const { decision, spec: { margin } } = model;
  const arc = decision.arc();
  if (arc !== null) {
    context.beginPath();
    traceBoundary(context, view, arc);
    stroke(context, ink, 2);
    if (margin !== null && !model.isWhatIf) {
      context.beginPath();
      // Margins are drawn around the hyperplane of the model; a calibration may have moved the boundary away from it.
      const middle = ["arsinh", "frame", "z"].includes(decision.spec.link) ? { ...arc, height: 0 } : arc;
      for (const sign of [-1, 1]) traceBoundary(context, view, middle, sign * margin * scene.root);
      stroke(context, ink, 1.1, { dash: [5, 4] });
    }
  }
  if (!decision.hasDistances || decision.isBinary) return;
  decision.spec.boundaries.forEach((boundary, k) => {
    const isAsked = app.showsEach || app.pointedClass === k;
    if (boundary && isAsked) outlineClass(context, palette, decision, view, boundary, cssOf(palette.points[k]));
  });
}

// Draw the boundary of one class against all others, and the point through which it was fitted.
function outlineClass(context, palette, decision, view, boundary, colour) {
  context.beginPath();
  traceBoundary(context, view, boundary);
  stroke(context, cssOf(palette.disk), 4, { alpha: 0.7 });
  stroke(context, colour, 2);
  if (decision.spec.through_points) drawStar(context, view.dataToScreen(boundary.p), 6, colour, cssOf(palette.disk));
}

function drawSupport(context, { palette }, { support }, view, ink) {
  const few = support.n <= MOST_RINGS;
  context.beginPath();
  for (let i = 0; i < support.n; i++) {
    const [x, y] = view.diskToScreen(support.seen(i));
    const radius = few ? 7.5 : 1.6;
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  if (few) {
    stroke(context, cssOf(palette.disk), 2.6, { alpha: 0.8 });
    stroke(context, ink, 1.2);
  } else {
    context.fillStyle = ink;
    context.fill();
  }
}

function drawReference(context, app, model, view, ink) {
  const p = model.referencePoint();
  if (p === null) return;
  const at = view.dataToScreen(p);
  if (model.spec.movable) {
    context.beginPath();
    context.arc(...at, 16, 0, 2 * Math.PI);
    context.globalAlpha = app.isHolding ? 0.28 : 0.14;
    context.fillStyle = ink;
    context.fill();
    context.globalAlpha = 1;
  }
  drawStar(context, at, 10, ink, cssOf(app.palette.disk));
  context.font = "italic 600 15px Georgia, serif";
  context.lineJoin = "round";
  Object.assign(context, { strokeStyle: cssOf(app.palette.disk), lineWidth: 4, fillStyle: ink });
  context.strokeText("p", at[0] + 13, at[1] - 9);
  context.fillText("p", at[0] + 13, at[1] - 9);
}

function drawStar(context, [x, y], size, colour, edge) {
  context.beginPath();
  for (let k = 0; k < 10; k++) {
    const radius = k % 2 ? 0.42 * size : size;
    const angle = (Math.PI * k) / 5 - Math.PI / 2;
    context.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  context.closePath();
  stroke(context, edge, 2.5);
  context.fillStyle = colour;
  context.fill();
}

// Mark the point that the card describes.
function drawMark(context, { points, marked, palette }, view, ink) {
  context.beginPath();
  context.arc(...view.diskToScreen(points.seen(marked)), 8, 0, 2 * Math.PI);
  stroke(context, cssOf(palette.disk), 4);
  stroke(context, ink, 2);
}

// Draw elements that appear only on the screen: the cursor of the keyboard, and the box or lasso that is being drawn.
function drawTools(context, { hasKeyboard, cursor, curve, palette }, ink) {
  if (hasKeyboard) {
    const [x, y] = cursor;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 5 * dx, y + 5 * dy);
      context.lineTo(x + 16 * dx, y + 16 * dy);
    }
    stroke(context, cssOf(palette.disk), 4.5);
    stroke(context, ink, 2);
  }
  if (curve !== null) drawCurve(context, curve, ink);
}

function drawCurve(context, curve, ink) {
  context.beginPath();
  curve.forEach((at, k) => (k === 0 ? context.moveTo(...at) : context.lineTo(...at)));
  context.closePath();
  context.globalAlpha = 0.08;
  context.fillStyle = ink;
  context.fill();
  context.globalAlpha = 1;
  stroke(context, ink, 1.4, { dash: [5, 4] });
}
