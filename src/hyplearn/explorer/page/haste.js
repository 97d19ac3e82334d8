// How a frame is drawn while things move: coarser if frames take long, finer if they are quick.
// Of very many points a sample moves.
import { MANY } from "./stamps.js";

// Pixels per CSS pixel at most, and pixels of a region drawn at once.
const LEVELS = [
  { finest: Infinity, block: 1 },
  { finest: 1, block: 1 },
  { finest: 1, block: 2 },
  { finest: 1, block: 4 },
];
// Milliseconds: a frame that takes longer is drawn coarser next time, one that is quicker finer.
const LONG = 12;
const QUICK = 4;
// Points in a moving frame: to begin with, and at least.
const MOST_MOVING = 60000;
const LEAST_MOVING = 15000;
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

  // All points and every pixel, once nothing moves. Very many points are squares, as there is no room for shapes.
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
