// The class of every pixel of the disk under the present view, and lines where classes meet.
import { mixed, packed } from "./colours.js";

// Pixels along the side of a cell. Where its corners agree the cell has one colour; else each of its pixels is asked.
const CELL = 8;
const OUTSIDE = -1;
// In blocks larger than this a thin line would be dots.
const MOST_BLOCK_WITH_LINES = 2;
// Stripes where two models disagree: added to a code, their width in pixels, and their share of ink.
const DISPUTED = 0x10000;
const STRIPE = 7;
const STRIPED = 0.3;

export class Regions {
  // With another decision, places on which both disagree are striped.
  constructor(view, ratio, decision, palette, other = null) {
    Object.assign(this, { decision, palette, other });
    this.stripe = STRIPE * ratio;
    this.striped = Int32Array.from(palette.tints, (tint) => packed(mixed(tint, palette.ink, STRIPED)));
    this.scale = view.scale * ratio;
    [this.middleX, this.middleY] = view.middle.map((value) => value * ratio);
    [this.px, this.py] = view.centre;
    this.gapOfCentre = view.gap;
    this.isPair = decision.scores !== null && decision.scores.length === 2;
    this.half = (this.isPair ? 0.8 : 0.65) * ratio;
    this.line = this.isPair ? palette.ink : palette.disk;
    this.hasLines = decision.arc() === null;
  }

  // Fill the image's pixels, in blocks of so many: coarse while things move, single pixels when they rest. A generator
  // that pauses after each row of cells.
  *filling(pixels, width, height, block) {
    this.hasLines &&= block <= MOST_BLOCK_WITH_LINES;
    const cell = CELL * block;
    const columns = Math.ceil(width / cell) + 1;
    let above = this.row(columns, 0, cell);
    for (let top = 0; top < height; top += cell) {
      const below = this.row(columns, top + cell, cell);
      for (let c = 0, left = 0; left < width; c++, left += cell) {
        const code = above[c];
        const right = Math.min(width, left + cell);
        const bottom = Math.min(height, top + cell);
        if (code < DISPUTED && code === above[c + 1] && code === below[c] && code === below[c + 1]) {
          this.box(pixels, width, left, top, right, bottom, this.tint(code));
        } else {
          this.split(pixels, width, left, top, right, bottom, block);
        }
      }
      above = below;
      yield;
    }
  }

  row(columns, y, cell) {
    return Int32Array.from({ length: columns }, (_, c) => this.codeAt(c * cell, y));
  }

  split(pixels, width, left, top, right, bottom, block) {
    for (let y = top; y < bottom; y += block) {
      for (let x = left; x < right; x += block) {
        const colour = this.pixel(x + block / 2, y + block / 2);
        this.box(pixels, width, x, y, Math.min(right, x + block), Math.min(bottom, y + block), colour);
      }
    }
  }

  box(pixels, width, left, top, right, bottom, colour) {
    for (let y = top; y < bottom; y++) pixels.fill(colour, y * width + left, y * width + right);
  }

  tint(code, x = 0, y = 0) {
    if (code === OUTSIDE) return this.palette.packed.ground;
    if (code < DISPUTED) return this.palette.packedTints[code];
    const isInk = (x + y) % (2 * this.stripe) < this.stripe;
    return (isInk ? this.striped : this.palette.packedTints)[code - DISPUTED];
  }

  // The data point under a pixel, kept in x, y and its gap; false outside the disk. As geometry.mobiusAdd.
  reach(pixelX, pixelY) {
    const u = (pixelX - this.middleX) / this.scale;
    const v = (this.middleY - pixelY) / this.scale;
    const left = 1 - u * u - v * v;
    if (left <= 0) return false;
    const sx = u + this.px;
    const sy = v + this.py;
    const square = sx * sx + sy * sy;
    const both = this.gapOfCentre * left;
    this.x = (this.gapOfCentre * sx + square * this.px) / (both + square);
    this.y = (this.gapOfCentre * sy + square * this.py) / (both + square);
    this.gap = both / (both + square);
    return true;
  }

  codeAt(pixelX, pixelY) {
    if (!this.reach(pixelX, pixelY)) return OUTSIDE;
    const code = this.decision.classOf(this.x, this.y, this.gap);
    return this.other === null || this.other.classOf(this.x, this.y, this.gap) === code ? code : code + DISPUTED;
  }

  // The colour of a pixel near a boundary: a tint, or the line where the difference of two classes is nearly zero.
  pixel(x, y) {
    const found = this.codeAt(x, y);
    if (found === OUTSIDE || !this.hasLines) return this.tint(found, x, y);
    const code = found % DISPUTED;
    const away = this.decision.scores === null ? this.stepsToOther(code, x, y) : this.pixelsToZero(code, x, y);
    const share = Math.min(1, Math.max(0, this.half + 0.5 - away));
    return share > 0 ? packed(mixed(this.palette.tints[code], this.line, share)) : this.tint(found, x, y);
  }

  // How far the nearest zero of the difference to the second class is, by the slope of the difference.
  pixelsToZero(code, x, y) {
    const { scores } = this.decision;
    let second = code === 0 ? 1 : 0;
    for (let k = 0; k < scores.length; k++) if (k !== code && scores[k] > scores[second]) second = k;
    const here = scores[code] - scores[second];
    // Towards the middle, so as to stay inside.
    const dx = this.difference(code, second, x + Math.sign(this.middleX - x), y) - here;
    const dy = this.difference(code, second, x, y + Math.sign(this.middleY - y)) - here;
    const slope = Math.hypot(dx, dy);
    return slope > 0 ? here / slope : Infinity;
  }

  difference(first, second, x, y) {
    this.reach(x, y);
    return (
      this.decision.score(first, this.x, this.y, this.gap) - this.decision.score(second, this.x, this.y, this.gap)
    );
  }

  stepsToOther(code, x, y) {
    const isOther = (dx, dy) => this.reach(x + dx, y + dy) && this.decision.classOf(this.x, this.y, this.gap) !== code;
    return isOther(1, 0) || isOther(0, 1) ? 0.5 : Infinity;
  }
}
