// Animated movements of the view, which follow the geodesic between two centres.
import { between, meanOf, seenFrom } from "./geometry.js";

// Duration of a flight in milliseconds.
const DURATION = 650;
// Maximum number of points from which the position of a class is computed.
const SAMPLE = 2000;
// A flight to a class zooms so that the fraction MOST_OF_A_CLASS of its points lies within the fraction FILLS of the
// radius of the disk. The zoom factor is at most CLOSEST.
const FILLS = 0.8;
const MOST_OF_A_CLASS = 0.9;
const CLOSEST = 8;

// Moves the view to a target { centre, zoom, shift }: animated, or at once if the system is set to reduced motion.
export class Camera {
  constructor(app) {
    this.app = app;
    this.flight = undefined;
  }

  stop() {
    cancelAnimationFrame(this.flight);
    this.flight = undefined;
  }

  get isFlying() {
    return this.flight !== undefined;
  }

  fly(target) {
    this.stop();
    const { view } = this.app;
    const from = { centre: view.centre, zoom: view.zoom, shift: view.shift };
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.move(from, target, 1);
      return;
    }
    let start;
    const step = (now) => {
      start ??= now;
      const share = Math.min(1, (now - start) / DURATION);
      this.flight = share < 1 ? requestAnimationFrame(step) : undefined;
      this.move(from, target, share);
    };
    this.flight = requestAnimationFrame(step);
  }

  move(from, target, time) {
    const share = time === 1 ? 1 : time * time * (3 - 2 * time);
    const { view } = this.app;
    view.moveTo(share === 1 ? target.centre : between(from.centre, target.centre, share));
    view.zoom = from.zoom * (target.zoom / from.zoom) ** share;
    view.shift = from.shift.map((value, k) => value + share * (target.shift[k] - value));
    this.app.change();
  }

  toPoint(i) {
    const { points, view } = this.app;
    this.fly({ centre: points.at(i), zoom: view.zoom, shift: [0, 0] });
  }

  // Fly to the points of a group, and zoom so that most of them fill the disk.
  toGroup(isMember) {
    const { points, order } = this.app;
    const members = [];
    for (let k = 0; k < order.length && members.length < SAMPLE; k++) if (isMember(order[k])) members.push(points.at(order[k]));
    if (members.length === 0) return;
    const centre = meanOf(members);
    const away = members.map((place) => Math.hypot(...seenFrom(centre, place))).sort((a, b) => a - b);
    const far = away[Math.floor(MOST_OF_A_CLASS * (away.length - 1))];
    this.fly({ centre, zoom: Math.min(CLOSEST, Math.max(1, FILLS / Math.max(far, 1e-3))), shift: [0, 0] });
  }
}
