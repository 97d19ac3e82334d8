// Messages between this page and the page that embeds it in a frame, such as a notebook. Both pages send
// { hyplearn: "selection", rows }; only the embedding page sends { hyplearn: "theme", name }.

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

  // Send the selected rows. Any origin is allowed, because the embedding page has access to the points anyway.
  tell(rows) {
    if (window.parent !== window) window.parent.postMessage({ hyplearn: "selection", rows }, "*");
  }
}
