// Draw curves of the disk as circular arcs in the current view, like hyplearn/plotting/arcs.py.
import { gap, seenFrom, turnSeenFrom } from "./geometry.js";

// Radius in pixels above which an arc is drawn as a straight line.
const STRAIGHT = 1e6;

// Trace the curve at the signed distance `shift` from a boundary; by default, the boundary itself.
export function traceBoundary(context, view, boundary, shift = 0) {
  if (boundary.kind !== "sphere") traceEquidistant(context, view, boundary, boundary.height + shift);
  else traceCircle(context, view, boundary.p, boundary.radius + boundary.side * shift);
}

// Trace the circle around p with the given hyperbolic radius.
function traceCircle(context, view, p, radius) {
  if (!(radius > 0)) return;
  const [x, y] = seenFrom(view.centre, p);
  const t = Math.tanh(radius / 2);
  const left = (1 - t) * (1 + t);
  const below = gap(x, y) + left * (x * x + y * y);
  const middle = view.diskToScreen([(left * x) / below, (left * y) / below]);
  const pixels = ((t * gap(x, y)) / below) * view.scale;
  context.moveTo(middle[0] + pixels, middle[1]);
  context.arc(...middle, pixels, 0, 2 * Math.PI);
}

// Trace the curve at the signed distance `height` from the geodesic through p with normal w.
export function traceEquidistant(context, view, { p, w }, height) {
  const [start, end] = rimPoints(seenFrom(view.centre, p), turnSeenFrom(view.centre, p, w));
  const half = [(end[0] - start[0]) / 2, (end[1] - start[1]) / 2];
  const middle = [(end[0] + start[0]) / 2, (end[1] + start[1]) / 2];
  const a = Math.hypot(...half);
  if (!(a > 1e-9)) return;
  const normal = [-half[1] / a, half[0] / a];
  const phi = Math.atan2(-(middle[0] * normal[0] + middle[1] * normal[1]), a) + 2 * Math.atan(Math.tanh(height / 2));
  const back = a / Math.tan(phi);
  const centre = [middle[0] - back * normal[0], middle[1] - back * normal[1]];
  traceArc(context, view, start, end, centre, a / Math.abs(Math.sin(phi)), phi < 0);
}

// Trace the geodesic between two points, given by their positions in the view.
export function traceGeodesic(context, view, a, b) {
  const det = 2 * (a[0] * b[1] - a[1] * b[0]);
  const first = 1 + a[0] * a[0] + a[1] * a[1];
  const second = 1 + b[0] * b[0] + b[1] * b[1];
  const centre = [(first * b[1] - second * a[1]) / det, (second * a[0] - first * b[0]) / det];
  traceArc(context, view, a, b, centre, Math.hypot(a[0] - centre[0], a[1] - centre[1]), det < 0);
}

function traceArc(context, view, start, end, centre, radius, anticlockwise) {
  const [from, to, middle] = [start, end, centre].map((v) => view.diskToScreen(v));
  context.moveTo(...from);
  const pixels = radius * view.scale;
  if (!(pixels < STRAIGHT)) {
    context.lineTo(...to);
    return;
  }
  const angle = (at) => Math.atan2(at[1] - middle[1], at[0] - middle[0]);
  context.arc(...middle, pixels, angle(from), angle(to), anticlockwise);
}

// Return the two ends of the geodesic on the rim; seen from the first end, w points to the left.
export function rimPoints(p, w) {
  const length = Math.hypot(...w);
  const along = [w[1] / length, -w[0] / length];
  const left = Math.max(0, gap(...p));
  return [-1, 1].map((sign) => {
    const s = [p[0] + sign * along[0], p[1] + sign * along[1]];
    const square = s[0] * s[0] + s[1] * s[1];
    const end = [p[0] + (left * s[0]) / square, p[1] + (left * s[1]) / square];
    const size = Math.hypot(...end);
    return [end[0] / size, end[1] / size];
  });
}
