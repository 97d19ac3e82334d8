// Draw a box or a lasso with the keyboard: arrow keys move a cursor, Space sets corners, Enter selects the points
// inside.
import { boxOf } from "./selection.js";

// Number of pixels that an arrow key moves the cursor, without and with Shift.
const STEP = 20;
const FINE_STEP = 4;

export class Pencil {
  constructor(app) {
    this.app = app;
    this.place = null;
    this.corners = [];
  }

  // Position of the cursor on the stage, which is in the middle unless it was moved.
  get cursor() {
    const { width, height } = this.app.view;
    const [x, y] = this.place ?? [width / 2, height / 2];
    return [Math.min(width, Math.max(0, x)), Math.min(height, Math.max(0, y))];
  }

  get isDrawing() {
    return this.corners.length > 0;
  }

  // Corners of the curve drawn so far, followed by the cursor.
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

  // Set a corner at the cursor. A box needs one corner, because the cursor is the opposite one; a lasso has any number.
  set() {
    if (this.app.tool === "box" && this.isDrawing) return;
    this.corners.push(this.cursor);
    this.show();
  }

  // Select the points inside the curve; return false if no curve was drawn.
  finish(how) {
    if (!this.isDrawing) return false;
    const { curve } = this;
    this.cancel();
    if (curve.length > 2) this.app.selectInside(curve, how);
    return true;
  }

  // Discard the curve; return false if there is none.
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

  // Text that says which keys can be pressed next; screen readers announce it.
  get hint() {
    const { tool } = this.app;
    if (!this.isDrawing) return `${tool === "box" ? "Box" : "Lasso"}: arrow keys move the cursor, Space sets the first corner.`;
    const count = this.corners.length;
    const more = tool === "box" ? "Arrow keys resize the box." : `${count} ${count === 1 ? "corner" : "corners"}; Space sets the next one.`;
    return `${more} Enter selects (Shift adds, Alt removes), Escape cancels.`;
  }
}
