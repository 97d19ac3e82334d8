// A box or a lasso that is drawn with keys: arrows move a cursor, Space sets corners, Enter selects what is inside.
import { boxOf } from "./selection.js";

// Pixels that the cursor moves at a time, and with Shift.
const STEP = 20;
const FINE_STEP = 4;

export class Pencil {
  constructor(app) {
    this.app = app;
    this.place = null;
    this.corners = [];
  }

  // Where the cursor is on the stage: in the middle, unless it was moved.
  get cursor() {
    const { width, height } = this.app.view;
    const [x, y] = this.place ?? [width / 2, height / 2];
    return [Math.min(width, Math.max(0, x)), Math.min(height, Math.max(0, y))];
  }

  get isDrawing() {
    return this.corners.length > 0;
  }

  // The curve so far, up to the cursor.
  get curve() {
    const { tool } = this.app;
    return tool === "box" ? boxOf(this.corners[0], this.cursor) : [...this.corners, this.cursor];
  }

  move(right, down, isFine) {
    const step = isFine ? FINE_STEP : STEP;
    const [x, y] = this.cursor;
    this.place = [x + step * right, y + step * down];
    this.place = this.cursor;
    this.show();
  }

  // A corner at the cursor. A box has one before its last, a lasso as many as it needs.
  set() {
    if (this.app.tool === "box" && this.isDrawing) return;
    this.corners.push(this.cursor);
    this.show();
  }

  // Select what is inside; false if nothing has been drawn.
  finish(how) {
    if (!this.isDrawing) return false;
    const { curve } = this;
    this.cancel();
    if (curve.length > 2) this.app.selectInside(curve, how);
    return true;
  }

  // Forget the curve; false if there is none.
  cancel() {
    const { isDrawing } = this;
    this.corners = [];
    this.show();
    return isDrawing;
  }

  show() {
    this.app.set({ curve: this.isDrawing ? this.curve : null });
    this.app.updateHint();
  }

  // What can be done next, for those who see it and those who hear it.
  get hint() {
    const { tool } = this.app;
    if (!this.isDrawing) return `${tool === "box" ? "Box" : "Lasso"}: move with arrows, Space sets the first corner.`;
    const count = this.corners.length;
    const more = tool === "box" ? "Arrows stretch the box." : `${count} ${count === 1 ? "corner" : "corners"}; Space sets the next.`;
    return `${more} Enter selects (Shift adds, Alt removes), Escape cancels.`;
  }
}
