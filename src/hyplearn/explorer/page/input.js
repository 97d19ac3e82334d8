// Pointer, wheel and keys.

const REACH = 11;
const GRASP = 16;
const WALK = 0.25;

export function listen(stage, app) {
  const held = new Map();
  let grip = null;

  const placeOf = (event) => {
    const box = stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const at = placeOf(event);
    stage.setPointerCapture(event.pointerId);
    held.set(event.pointerId, at);
    app.set({ hasKeyboard: false });
    grip = gripAt(app, [...held.values()]);
  });

  stage.addEventListener("pointermove", (event) => {
    const at = placeOf(event);
    if (!held.has(event.pointerId)) {
      hover(stage, app, at);
      return;
    }
    held.set(event.pointerId, at);
    grip?.([...held.values()]);
  });

  const release = (event) => {
    if (!held.delete(event.pointerId)) return;
    grip = held.size ? gripAt(app, [...held.values()]) : null;
    app.set({ isHolding: false });
  };
  stage.addEventListener("pointerup", release);
  stage.addEventListener("pointercancel", release);
  stage.addEventListener("pointerleave", () => app.mark(-1));
  stage.addEventListener("dblclick", () => app.reset());
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    app.zoom(Math.exp(-pixels * 0.0016), placeOf(event));
  }, { passive: false });
  stage.addEventListener("keydown", (event) => press(event, app));
  stage.addEventListener("blur", () => app.set({ hasKeyboard: false }));
  stage.addEventListener("focus", () => app.set({ hasKeyboard: stage.matches(":focus-visible") }));
}

// What moving the pointers does from here on: two pinch, one moves p or the disk.
function gripAt(app, places) {
  if (places.length === 2) return pinch(app, places);
  const p = app.scene.movable ? app.view.dataToScreen(app.referencePoint()) : null;
  if (p !== null && apart(p, places[0]) < GRASP) {
    app.set({ isHolding: true });
    return ([at]) => app.movePoint(app.view.screenToData(at));
  }
  if (!app.view.isInside(places[0])) return null;
  const grabbed = app.view.screenToData(places[0]);
  return ([at]) => app.pan(grabbed, at);
}

function pinch(app, places) {
  let before = apart(...places);
  const grabbed = app.view.screenToData(between(...places));
  return ([a, b]) => {
    const now = apart(a, b);
    app.zoom(now / before, between(a, b));
    app.pan(grabbed, between(a, b));
    before = now;
  };
}

function apart(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

function between(a, b) {
  return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
}

function hover(stage, app, at) {
  const i = app.points.nearest(app.view.screenToDisk(at), REACH / app.view.scale, app.shown);
  const isOnP = app.scene.movable && apart(app.view.dataToScreen(app.referencePoint()), at) < GRASP;
  stage.style.cursor = isOnP ? "move" : app.view.isInside(at) ? "grab" : "default";
  app.mark(isOnP ? -1 : i);
}

const KEYS = {
  ArrowLeft: (app) => app.walk(-WALK, 0),
  ArrowRight: (app) => app.walk(WALK, 0),
  ArrowUp: (app) => app.walk(0, WALK),
  ArrowDown: (app) => app.walk(0, -WALK),
  "+": (app) => app.zoomIn(),
  "=": (app) => app.zoomIn(),
  "-": (app) => app.zoomOut(),
  0: (app) => app.reset(),
  Enter: (app) => app.mark(app.points.nearest(app.view.screenToDisk([app.view.width / 2, app.view.height / 2]), 2, app.shown)),
  Escape: (app) => app.mark(-1),
};

function press(event, app) {
  const action = KEYS[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  app.set({ hasKeyboard: true });
  action(app);
}
