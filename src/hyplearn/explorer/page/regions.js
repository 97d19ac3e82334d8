// Paint the region of each class, pixel by pixel, and the lines between regions.
import { mixed, packed } from "./colours.js";

// Side length of a cell in pixels. If all corners of a cell have the same class, the cell is filled with one colour;
// otherwise each of its pixels is evaluated.
const CELL = 8;
const OUTSIDE = -1;
// Largest block size at which lines are drawn. In larger blocks, thin lines would look like dots.
const MOST_BLOCK_WITH_LINES = 2;
// Stripes where two models disagree: number that is added to a class code, width in CSS pixels, and share of the ink.
const DISPUTED = 0x10000;
const STRIPE = 7;
const STRIPED = 0.3;

export class Regions {
  // If another decision is given, regions where the two decisions disagree are striped.
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

  // Fill the pixels of an image in blocks of `block` by `block` pixels, which are larger while the view moves. This
  // generator yields after each row of cells.
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

  // Compute the data point at a pixel, as geometry.mobiusAdd does, and store it in this.x, this.y and this.gap. Return
  // false if the pixel is outside the disk.
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

  // Return the colour of a pixel near a boundary: the tint of the class, or the colour of the line if the scores of two
  // classes are nearly equal.
  pixel(x, y) {
    const found = this.codeAt(x, y);
    if (found === OUTSIDE || !this.hasLines) return this.tint(found, x, y);
    const code = found % DISPUTED;
    const away = this.decision.scores === null ? this.stepsToOther(code, x, y) : this.pixelsToZero(code, x, y);
    const share = Math.min(1, Math.max(0, this.half + 0.5 - away));
    return share > 0 ? packed(mixed(this.palette.tints[code], this.line, share)) : this.tint(found, x, y);
  }

  // Estimate the distance in pixels to the place where the scores of the two best classes are equal, from their
  // difference and its slope.
  pixelsToZero(code, x, y) {
    const { scores } = this.decision;
    let second = code === 0 ? 1 : 0;
    for (let k = 0; k < scores.length; k++) if (k !== code && scores[k] > scores[second]) second = k;
    const here = scores[code] - scores[second];
    // Step towards the middle, to stay inside the disk.
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
