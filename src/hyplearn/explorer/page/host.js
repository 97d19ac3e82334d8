// Messages between this page and the one whose frame it is in, such as a notebook: { hyplearn: "selection", rows } both
// ways, { hyplearn: "theme", name } from there.

export class Host {
  constructor(app) {
    this.app = app;
    window.addEventListener("message", (event) => this.hear(event));
  }

  hear({ data, source }) {
    if (source !== window.parent || source === window || typeof data?.hyplearn !== "string") return;
    if (data.hyplearn === "theme") this.app.theme.choose(data.name);
    if (data.hyplearn === "selection" && data.rows instanceof Uint32Array) this.app.select(() => this.app.selection.set(data.rows), { isHeard: true });
  }

  // The page around may be on another origin, and has the points anyway.
  tell(rows) {
    if (window.parent !== window) window.parent.postMessage({ hyplearn: "selection", rows }, "*");
  }
}
