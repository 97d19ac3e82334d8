// Draw points by copying precomputed images of markers (stamps) into the pixels. This takes a few milliseconds for
// fifty thousand points.
import { isInside, outlineOf } from "./shapes.js";

// Number of subpixel positions of a stamp in each direction, and number of different radii per pixel.
const PHASES = 4;
const SIZES = 4;
// Coverage of a pixel that a shape covers completely, and number of samples along each side of a pixel with which the
// coverage of a polygon is computed.
const FULL = 256;
const SAMPLES = 4;
// Opacity of the halo around a marker.
const HALO = 0.85;

// Stamps for images of one size and one width of the halo; each stamp is created when it is first needed.
export class Stamps {
  constructor(width, height, halo) {
    Object.assign(this, { width, height, halo, made: {} });
  }

  // Return the stamp for a shape, a size and a subpixel position. It lists the covered pixels, and how much of each
  // pixel the shape and the halo cover.
  find(shape, size, phase) {
    const made = (this.made[shape] ??= []);
    return (made[size * PHASES * PHASES + phase] ??= this.make(
      shape, size / SIZES, ((phase % PHASES) + 0.5) / PHASES, (Math.floor(phase / PHASES) + 0.5) / PHASES,
    ));
  }

  make(shape, radius, middleX, middleY) {
    const reach = Math.ceil(1.5 * radius + this.halo + 1);
    const cells = [];
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) {
        const at = [dx - middleX, dy - middleY];
        const fill = Math.round(FULL * covered(shape, radius, at));
        const rim = this.halo > 0 ? Math.round(FULL * HALO * covered(shape, radius + this.halo, at)) : 0;
        if (fill + rim > 0) cells.push([dx, dy, fill, rim]);
      }
    }
    const column = (k) => Int32Array.from(cells, (cell) => cell[k]);
    const places = Int32Array.from(cells, ([dx, dy]) => dy * this.width + dx);
    return { reach, dx: column(0), dy: column(1), fill: column(2), rim: column(3), places };
  }

  // Draw a point centred at (x, y) into opaque pixels.
  press(pixels, x, y, radius, shape, colour, ground) {
    const column = Math.floor(x);
    const row = Math.floor(y);
    const phase = Math.floor((x - column) * PHASES) + PHASES * Math.floor((y - row) * PHASES);
    const stamp = this.find(shape, Math.max(2, Math.round(radius * SIZES)), phase);
    const { reach, fill, rim, places } = stamp;
    if (column < -reach || row < -reach || column >= this.width + reach || row >= this.height + reach) return;
    const isWhole = column >= reach && row >= reach && column < this.width - reach && row < this.height - reach;
    const start = row * this.width + column;
    for (let k = 0; k < places.length; k++) {
      if (!isWhole && this.isOff(column + stamp.dx[k], row + stamp.dy[k])) continue;
      const at = start + places[k];
      const share = fill[k];
      if (share < FULL) {
        const below = rim[k] > 0 ? blended(pixels[at], ground, rim[k]) : pixels[at];
        pixels[at] = blended(below, colour, share);
      } else {
        pixels[at] = colour;
      }
    }
  }

  // Draw a point as a plain square. This is five times as fast, and used while many points move.
  dab(pixels, x, y, radius, colour) {
    const side = Math.max(2, Math.round(1.7 * radius));
    const left = Math.round(x - side / 2);
    const top = Math.round(y - side / 2);
    if (left < 0 || top < 0 || left + side > this.width || top + side > this.height) return;
    for (let row = top; row < top + side; row++) {
      for (let at = row * this.width + left, end = at + side; at < end; at++) pixels[at] = colour;
    }
  }

  isOff(x, y) {
    return x < 0 || y < 0 || x >= this.width || y >= this.height;
  }
}

// Return how much of a pixel a shape covers; (x, y) is the corner of the pixel relative to the centre of the shape.
function covered(shape, radius, [x, y]) {
  const outline = outlineOf(shape);
  if (outline === null) return Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x + 0.5, y + 0.5)));
  let inside = 0;
  for (let k = 0; k < SAMPLES * SAMPLES; k++) {
    const [dx, dy] = [((k % SAMPLES) + 0.5) / SAMPLES, (Math.floor(k / SAMPLES) + 0.5) / SAMPLES];
    if (isInside(outline, (x + dx) / radius, (y + dy) / radius)) inside += 1;
  }
  return inside / SAMPLES ** 2;
}

// Blend the given share of the colour `above` over the colour `below`, for all channels at once. Both colours are
// opaque and are signed 32-bit integers.
function blended(below, above, share) {
  const left = FULL - share;
  const redBlue = (Math.imul(below & 0xff00ff, left) + Math.imul(above & 0xff00ff, share)) >>> 8;
  const green = (Math.imul(below & 0xff00, left) + Math.imul(above & 0xff00, share)) >>> 8;
  return 0xff000000 | (redBlue & 0xff00ff) | (green & 0xff00);
}

// Return the radius of the largest points, which decreases with the number of points.
export function radiusOf(n, zoom) {
  const radius = Math.min(5, Math.max(1.5, 6.7 - 1.05 * Math.log10(Math.max(n, 1))));
  return radius * Math.min(2, zoom ** 0.35);
}

// Return the radius of a point: like everything in the disk, points are smaller towards the rim.
export function shrunk(largest, seenGap) {
  return largest * (0.5 + 0.5 * Math.min(1, 2 * seenGap));
}

// Number of points that are drawn without a pause, which takes a few milliseconds.
const SLICE = 8000;

// Draw the points in an order that mixes classes, so that no class covers all others; highlighted points are drawn
// last. This generator yields after each slice.
export function* pressing(stamps, pixels, given) {
  const { bright, faded, isLit } = given.paint;
  for (const isBright of isLit === null ? [true] : [false, true]) {
    for (let start = 0; start < given.rows.length; start += SLICE) {
      pressSome(stamps, pixels, given, isBright, isBright ? bright : faded, start);
      yield;
    }
  }
}

// Draw one slice of points. `places` contains either all points, or only the points in `rows`.
function pressSome(stamps, pixels, { places, rows, n, shown, paint, view, ratio, isHasty, ground }, isBright, colours, start) {
  const largest = radiusOf(n, view.zoom) * ratio;
  const { u, v, seenGap } = places;
  const { index, shapes, isLit } = paint;
  const isSample = places.n < n;
  const [middleX, middleY] = view.middle.map((value) => value * ratio);
  const scale = view.scale * ratio;
  for (let k = start; k < Math.min(rows.length, start + SLICE); k++) {
    const i = rows[k];
    if (shown[i] === 0 || (isLit !== null && (isLit[i] === 1) !== isBright)) continue;
    const at = isSample ? k : i;
    const radius = shrunk(largest, seenGap[at]);
    const x = middleX + scale * u[at];
    const y = middleY - scale * v[at];
    const code = index[i];
    if (isHasty) stamps.dab(pixels, x, y, radius, colours[code]);
    else stamps.press(pixels, x, y, radius, shapes[code], colours[code], ground);
  }
}

// Number of points above which halos are not drawn, because they would cover other points.
export const MANY = 20000;

export function haloOf(n, ratio) {
  return n > MANY ? 0 : 0.8 * ratio;
}
