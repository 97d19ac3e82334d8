// Choose how frames are drawn while the view moves: with less detail if frames take long, and with more detail if they
// are fast. If there are very many points, only a sample is drawn.
import { MANY } from "./stamps.js";

// Levels of detail: maximum number of device pixels per CSS pixel (finest), and size in pixels of the blocks of
// regions.
const LEVELS = [
  { finest: Infinity, block: 1 },
  { finest: 1, block: 1 },
  { finest: 1, block: 2 },
  { finest: 1, block: 4 },
];
// If a frame takes more than LONG milliseconds, the next one has less detail; if it takes less than QUICK, more detail.
const LONG = 12;
const QUICK = 4;
// Maximum and minimum number of points that are drawn while the view moves.
const MOST_MOVING = 60000;
const LEAST_MOVING = 15000;
// Number of points above which points are always drawn as squares, because shapes could not be distinguished.
const CROWD = 200000;

export class Haste {
  constructor(points, order, ratio) {
    const { n } = points;
    this.n = n;
    this.points = points;
    this.order = order;
    this.sample = n > MOST_MOVING ? points.sample(order.subarray(0, MOST_MOVING)) : points;
    this.many = Math.min(n, MOST_MOVING);
    this.level = n > MANY || ratio > 1 ? 1 : 0;
  }

  settings(ratio) {
    const { finest, block } = LEVELS[this.level];
    const isHasty = this.level > 0 && this.n > MANY;
    const rows = this.order.subarray(0, this.many);
    return { ratio: Math.min(ratio, finest), block, isHasty, rows, places: this.sample };
  }

  // Return the settings for a view at rest: all points and all pixels are drawn.
  whole(ratio) {
    return { ratio, block: 1, isHasty: this.n > CROWD, rows: this.order, places: this.points };
  }

  learn(took) {
    if (took > LONG) {
      if (this.level < LEVELS.length - 1) this.level += 1;
      else this.many = Math.max(Math.min(this.n, LEAST_MOVING), Math.floor(this.many / 1.5));
    } else if (took < QUICK) {
      if (this.many < Math.min(this.n, MOST_MOVING)) this.many = Math.min(this.n, MOST_MOVING, 2 * this.many);
      else if (this.level > 1 || (this.level === 1 && this.n <= MANY && took < QUICK / 2)) this.level -= 1;
    }
  }
}
