// Pages of the explorer in this manual follow its switch between light and dark, also where files may not see each other.
function tell(frame) {
  frame.contentWindow.postMessage({ hyplearn: "theme", name: document.body.dataset.theme }, "*");
}

document.addEventListener("DOMContentLoaded", () => {
  const frames = document.querySelectorAll("iframe.live");
  for (const frame of frames) frame.addEventListener("load", () => tell(frame));
  const watch = new MutationObserver(() => frames.forEach(tell));
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
});
