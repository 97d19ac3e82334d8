/* A button on every block of code. It copies the commands: no prompts, and no output of blocks that have prompts. */

const PROMPT = /^(>>> ?|\.\.\. ?|\$ )/;

function commands(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  if (!lines.some((line) => PROMPT.test(line))) return lines.join("\n");
  return lines.filter((line) => PROMPT.test(line)).map((line) => line.replace(PROMPT, "")).join("\n");
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.body.appendChild(document.createElement("textarea"));
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await copy(commands(block.querySelector("pre").textContent));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
});
