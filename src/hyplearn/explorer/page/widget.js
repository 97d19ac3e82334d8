// The page in a notebook, as a widget of anywidget: a frame with the page, and messages between it and Python.
// `html` is the page, `height` that of the frame, `selection` the selected rows as bytes of little-endian uint32.

function rowsOf(view) {
  return new Uint32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "hyplearn explorer";
  frame.sandbox = "allow-scripts allow-downloads";
  frame.style = "width:100%;border:0;border-radius:10px";
  frame.height = model.get("height");
  frame.srcdoc = model.get("html");
  el.append(frame);

  let heard = null;
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow || data?.hyplearn !== "selection") return;
    heard = new DataView(data.rows.slice().buffer);
    model.set("selection", heard);
    model.save_changes();
  };
  // Python's answer to what came from here is no news.
  const tell = () => {
    const bytes = model.get("selection");
    if (bytes !== heard) frame.contentWindow.postMessage({ hyplearn: "selection", rows: rowsOf(bytes) }, "*");
  };
  window.addEventListener("message", hear);
  model.on("change:selection", tell);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:selection", tell);
  };
}

export default { render };
