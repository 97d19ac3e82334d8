// Points as round stamps pressed into the pixels: fifty thousand in a few milliseconds.
import { packed } from "./colours.js";

// Places between two pixels that a stamp can have, in each direction, and steps per pixel of radius.
const PHASES = 4;
const SIZES = 4;
// Coverage is counted in this many steps.
const FULL = 256;
const HALO = 0.85;

// All stamps for one image and one width of the halo, made when they are needed.
export class Stamps {
  constructor(width, height, halo) {
    Object.assign(this, { width, height, halo, made: [] });
  }

  // The stamp whose middle is in that part of a pixel: its pixels and how much of each the disk and the halo cover.
  find(size, phase) {
    return (this.made[size * PHASES * PHASES + phase] ??= this.make(
      size / SIZES, ((phase % PHASES) + 0.5) / PHASES, (Math.floor(phase / PHASES) + 0.5) / PHASES,
    ));
  }

  make(radius, middleX, middleY) {
    const reach = Math.ceil(radius + this.halo + 1);
    const cells = [];
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) {
        const away = Math.hypot(dx + 0.5 - middleX, dy + 0.5 - middleY);
        const covered = (r) => Math.min(1, Math.max(0, r + 0.5 - away));
        const fill = Math.round(FULL * covered(radius));
        const rim = this.halo > 0 ? Math.round(FULL * HALO * covered(radius + this.halo)) : 0;
        if (fill + rim > 0) cells.push([dx, dy, fill, rim]);
      }
    }
    const column = (k) => Int32Array.from(cells, (cell) => cell[k]);
    const places = Int32Array.from(cells, ([dx, dy]) => dy * this.width + dx);
    return { reach, dx: column(0), dy: column(1), fill: column(2), rim: column(3), places };
  }

  // Press a point with its middle at (x, y) into opaque pixels.
  press(pixels, x, y, radius, colour, ground) {
    const column = Math.floor(x);
    const row = Math.floor(y);
    const phase = Math.floor((x - column) * PHASES) + PHASES * Math.floor((y - row) * PHASES);
    const stamp = this.find(Math.max(2, Math.round(radius * SIZES)), phase);
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

  // The same as a plain square: five times as fast, for many points that move.
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

// So much of the second colour over the first, all channels at once; both are opaque, and signed 32-bit integers.
function blended(below, above, share) {
  const left = FULL - share;
  const redBlue = (Math.imul(below & 0xff00ff, left) + Math.imul(above & 0xff00ff, share)) >>> 8;
  const green = (Math.imul(below & 0xff00, left) + Math.imul(above & 0xff00, share)) >>> 8;
  return 0xff000000 | (redBlue & 0xff00ff) | (green & 0xff00);
}

// Fewer points are larger.
function radiusOf(n) {
  return Math.min(5, Math.max(1.5, 6.7 - 1.05 * Math.log10(Math.max(n, 1))));
}

// All points that are shown, smaller towards the rim as everything there; `order` keeps the last class from covering all.
export function pressAll(stamps, pixels, points, { order, shown, codes }, palette, view, ratio, isHasty) {
  const largest = radiusOf(points.n) * ratio * Math.min(2, view.zoom ** 0.35);
  const colours = Int32Array.from(palette.points, packed);
  const { u, v, seenGap } = points;
  const [middleX, middleY] = view.middle.map((value) => value * ratio);
  const scale = view.scale * ratio;
  for (let k = 0; k < order.length; k++) {
    const i = order[k];
    if (shown[i] === 0) continue;
    const radius = largest * (0.5 + 0.5 * Math.min(1, 2 * seenGap[i]));
    const x = middleX + scale * u[i];
    const y = middleY - scale * v[i];
    if (isHasty) stamps.dab(pixels, x, y, radius, colours[codes[i]]);
    else stamps.press(pixels, x, y, radius, colours[codes[i]], palette.packed.disk);
  }
}

// So many points would drown in their halos.
export const MANY = 20000;

export function haloOf(n, ratio) {
  return n > MANY ? 0 : 0.8 * ratio;
}
