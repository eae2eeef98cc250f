// The widget's entry (the interface is that of anywidget: https://anywidget.dev).
//
// The graph is no trait, so that no notebook is saved with it: it is asked for by a message and comes as compressed JSON.  Where nobody
// answers (a saved notebook without its kernel) the picture that came with the widget is shown.

import { Explorer } from "./explorer.js";
import { followTheme } from "./theme.js";

const PATIENCE = 4000;

async function inflated(buffer) {
  const stream = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// The buffer of the saved trait, or of the kernel's answer; undefined if there is none.
function graphOf(model) {
  const saved = model.get("graph");
  if (saved?.byteLength) return Promise.resolve(saved);
  return new Promise((resolve) => {
    const answer = (message, buffers) => {
      if (message?.kind !== "graph") return;
      clearTimeout(timer);
      model.off("msg:custom", answer);
      resolve(buffers[0]);
    };
    const timer = setTimeout(() => {
      model.off("msg:custom", answer);
      resolve(undefined);
    }, PATIENCE);
    model.on("msg:custom", answer);
    model.send({ kind: "graph" });
  });
}

function showPicture(root, model) {
  const image = document.createElement("img");
  image.alt = model.get("summary");
  image.src = `data:image/svg+xml,${encodeURIComponent(model.get("picture"))}`;
  const note = document.createElement("p");
  note.textContent = "Run the cell again to explore the whole e-graph.";
  root.replaceChildren(image, note);
  root.classList.add("still");
}

export default {
  async render({ model, el }) {
    const root = document.createElement("div");
    root.className = "eqsat-explorer";
    root.style.height = `${model.get("height")}px`;
    root.textContent = "…";
    el.append(root);
    const stop = followTheme(root);
    const buffer = await graphOf(model);
    if (buffer) {
      const data = await inflated(buffer);
      root.textContent = "";
      root.explorer = new Explorer(root, data);
    } else {
      showPicture(root, model);
    }
    return stop;
  },
};
