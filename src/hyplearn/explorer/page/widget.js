// Notebook widget for anywidget: a frame that shows the page, and messages between the page and Python. The model has
// `html` (the page), `height` (of the frame) and `selection` (the selected rows as little-endian uint32).

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
  const send = () => frame.contentWindow.postMessage({ hyplearn: "selection", rows: rowsOf(model.get("selection")) }, "*");
  // Send the selection to the page, unless it came from the page.
  const tell = () => {
    if (model.get("selection") !== heard) send();
  };
  // `html` contains the selection at the time when the widget was made, and messages sent before the page has loaded
  // are lost. Notebooks load the page again when they move its cell.
  frame.addEventListener("load", send);
  window.addEventListener("message", hear);
  model.on("change:selection", tell);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:selection", tell);
  };
}

export default { render };
