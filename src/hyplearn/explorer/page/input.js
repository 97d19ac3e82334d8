// Handlers for the pointer, the wheel and the keyboard.
import { boxOf } from "./selection.js";

// Maximum distance in pixels between the pointer and a point that it selects.
const REACH = { mouse: 11, pen: 14, touch: 24 };
// Maximum distance in pixels between the pointer and p at which p can be dragged.
const GRASP = 16;
// Hyperbolic distance that an arrow key moves the disk.
const WALK = 0.25;
// A press is a tap if it moves by at most STILL pixels and lasts less than SHORT milliseconds.
const STILL = 8;
const SHORT = 500;

export function listen({ stage, model }, app) {
  const held = new Map();
  let grip = null;
  let tap = null;

  const placeOf = (event) => {
    const box = stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const at = placeOf(event);
    stage.setPointerCapture(event.pointerId);
    held.set(event.pointerId, at);
    app.camera.stop();
    app.pencil.cancel();
    app.useKeys(false);
    tap = held.size === 1 ? { at, time: event.timeStamp } : null;
    grip = gripAt(app, model, [...held.values()], event);
  });

  stage.addEventListener("pointermove", (event) => {
    const at = placeOf(event);
    if (!held.has(event.pointerId)) {
      if (event.pointerType !== "touch") hover(stage, model, app, at);
      return;
    }
    held.set(event.pointerId, at);
    // Ignore small movements while the press may still become a tap, because fingers tremble.
    if (tap && apart(tap.at, at) <= STILL) return;
    tap = null;
    grip?.move([...held.values()]);
  });

  const release = (event) => {
    if (!held.delete(event.pointerId)) return;
    grip?.end?.();
    grip = held.size ? gripAt(app, model, [...held.values()], event) : null;
    app.set({ isHolding: false });
  };
  stage.addEventListener("pointerup", (event) => {
    const isTap = tap && held.has(event.pointerId) && event.timeStamp - tap.time < SHORT;
    if (isTap) {
      grip = null;
      app.set({ curve: null });
      app.pin(pointAt(app, tap.at, event.pointerType));
    }
    tap = null;
    release(event);
  });
  stage.addEventListener("pointercancel", release);
  stage.addEventListener("pointerleave", () => app.mark(app.pinned));
  stage.addEventListener("dblclick", () => {
    if (app.pinned < 0) app.reset();
  });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    app.zoom(Math.exp(-pixels * 0.0016), placeOf(event));
  }, { passive: false });
  stage.addEventListener("keydown", (event) => press(event, app, model));
  stage.addEventListener("blur", () => app.useKeys(false));
  stage.addEventListener("focus", () => app.useKeys(stage.matches(":focus-visible")));
}

// Return the action of moving the pointers: two pointers pinch; one pointer draws a curve, moves p, or moves the disk.
function gripAt(app, model, places, event) {
  app.curve = null;
  if (places.length === 2) return pinch(app, places);
  if (app.tool !== "move") return draw(app, places[0], event);
  const p = model.spec.movable ? app.view.dataToScreen(model.referencePoint()) : null;
  if (p !== null && apart(p, places[0]) < GRASP) {
    app.set({ isHolding: true });
    return { move: ([at]) => app.movePoint(model, app.view.screenToData(at)) };
  }
  if (!app.view.isInside(places[0])) return null;
  const grabbed = app.view.screenToData(places[0]);
  return { move: ([at]) => app.pan(grabbed, at) };
}

// Return how a box or a lasso changes the selection: Shift adds the points inside, and Alt removes them.
function howOf(event, app) {
  return event.shiftKey ? "add" : event.altKey ? "remove" : app.how;
}

// Draw a box or a lasso. When the pointer is released, the points inside are selected.
function draw(app, start, event) {
  const how = howOf(event, app);
  let curve = [start];
  return {
    move: ([at]) => {
      curve = app.tool === "box" ? boxOf(start, at) : [...curve, at];
      app.set({ curve });
    },
    end: () => {
      app.set({ curve: null });
      if (curve.length > 2) app.selectInside(curve, how);
    },
  };
}

function pinch(app, places) {
  let before = apart(...places);
  const grabbed = app.view.screenToData(between(...places));
  return {
    move: ([a, b]) => {
      const now = apart(a, b);
      app.zoom(now / before, between(a, b));
      app.pan(grabbed, between(a, b));
      before = now;
    },
  };
}

function apart(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

function between(a, b) {
  return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
}

function pointAt(app, at, pointerType) {
  app.settle();
  return app.points.nearest(app.view.screenToDisk(at), (REACH[pointerType] ?? REACH.mouse) / app.view.scale, app.shown);
}

function hover(stage, model, app, at) {
  const i = pointAt(app, at, "mouse");
  const isOnP = model.spec.movable && apart(app.view.dataToScreen(model.referencePoint()), at) < GRASP;
  const cursor = app.tool !== "move" ? "crosshair" : isOnP ? "move" : app.view.isInside(at) ? "grab" : "default";
  stage.style.cursor = cursor;
  app.mark(app.pinned >= 0 ? app.pinned : isOnP ? -1 : i);
}

// Return the handler of an arrow key, which moves the disk, or the cursor of a box or a lasso.
function arrow(right, down) {
  return (app, { shiftKey }) => {
    if (app.tool === "move") app.walk(WALK * right, -WALK * down);
    else app.pencil.move(right, down, shiftKey);
  };
}

const KEYS = {
  ArrowLeft: arrow(-1, 0),
  ArrowRight: arrow(1, 0),
  ArrowUp: arrow(0, -1),
  ArrowDown: arrow(0, 1),
  "+": (app) => app.zoomIn(),
  "=": (app) => app.zoomIn(),
  "-": (app) => app.zoomOut(),
  0: (app) => app.reset(),
  " ": (app) => app.tool !== "move" && app.pencil.set(),
  Enter: (app, event) => app.pencil.finish(howOf(event, app)) || app.pin(pointAtCursor(app)),
  Escape: (app) => app.pencil.cancel() || app.pin(-1),
  b: (app) => app.useTool("box"),
  l: (app) => app.useTool("lasso"),
  m: (app) => app.useTool("move"),
  p: (app, _, model) => model.spec.movable && app.movePoint(model, app.view.screenToData(app.cursor)),
  x: (app) => app.toggleSelected(app.pinned >= 0 ? app.pinned : pointAtCursor(app)),
};

function pointAtCursor(app) {
  app.settle();
  return app.points.nearest(app.view.screenToDisk(app.cursor), 2, app.shown);
}

function press(event, app, model) {
  const action = KEYS[event.key.length > 1 ? event.key : event.key.toLowerCase()];
  if (!action || event.ctrlKey || event.metaKey || (event.altKey && event.key !== "Enter")) return;
  event.preventDefault();
  app.camera.stop();
  app.useKeys(true);
  action(app, event, model);
}
