// The picture: boxes and lines as SVG, with zoom and pan.  It knows nothing of what is shown or why; it is told, and tells what was clicked.

import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { boundsText, divisorText, nanoseconds, rowText } from "./graph.js";
import { HEADER, ROW, arrange, shorten } from "./layout.js";

const READABLE = 0.35;
// pixels around the view that are drawn too
const MARGIN = 100;
const SVG = "http://www.w3.org/2000/svg";

function make(parent, name, attributes = {}, text = undefined) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

export class Picture {
  // `on` has open(ids), fold(eclass), close(eclass), about(eclass, node)
  constructor(parent, on) {
    this.on = on;
    this.svg = make(parent, "svg", { class: "picture", tabindex: "0", role: "application", "aria-label": "e-graph: arrow keys move, plus and minus zoom, tab goes through boxes" });
    const defs = make(this.svg, "defs");
    for (const kind of ["plain", "chosen"]) {
      const marker = make(defs, "marker", { id: `eqsat-arrow-${kind}`, class: `arrow ${kind}`, viewBox: "0 0 6 6", refX: "5", refY: "3", markerWidth: "8", markerHeight: "8", markerUnits: "userSpaceOnUse", orient: "auto" });
      make(marker, "path", { d: "M0,0L6,3L0,6Z" });
    }
    this.world = make(this.svg, "g");
    this.zoom = zoom()
      .scaleExtent([0.05, 3])
      .extent(() => [[0, 0], this.size])
      .filter((event) => !event.button && (event.type !== "wheel" || event.ctrlKey || event.metaKey || this.hasFocus()))
      .on("zoom", (event) => this.moved(event.transform));
    this.selection = select(this.svg).call(this.zoom).on("dblclick.zoom", null);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    // asking the page for sizes at every step would make it lay everything out
    this.size = [0, 0];
    new ResizeObserver(([{ contentRect }]) => {
      this.size = [contentRect.width, contentRect.height];
      this.moved(this.transform);
    }).observe(this.svg);
  }

  hasFocus() {
    return this.svg === document.activeElement || this.svg.contains(document.activeElement);
  }

  // Draw classes; a box that stays keeps its place on the screen if it is `anchor`.
  draw(state, shown, { unfolded = new Set(), found = new Set(), anchor } = {}) {
    const before = this.arranged?.boxes.get(anchor);
    this.arranged = arrange(state, shown, unfolded);
    this.state = state;
    this.shown = shown;
    this.found = found;
    this.hidden = new Map();
    this.parts = [];
    const world = document.createElementNS(SVG, "g");
    const lines = make(world, "g", { class: "lines" });
    for (const line of this.arranged.lines) {
      const chosen = line.node.chosen && state.classes.get(line.to).chosen;
      const kind = chosen ? "chosen" : "plain";
      const element = make(lines, "path", { d: line.path, class: `line ${kind}${line.node.isNew ? " new" : ""}`, "marker-end": `url(#eqsat-arrow-${kind})` });
      this.parts.push({ element, area: line.area, here: true });
    }
    for (const box of this.arranged.boxes.values()) {
      const area = [box.x - 40, box.y - 10, box.x + box.width + 40, box.y + box.height + 10];
      this.parts.push({ element: this.box(world, box), area, here: true });
    }
    this.world.replaceChildren(world);
    this.moved(this.transform);
    const after = this.arranged.boxes.get(anchor);
    if (before && after) {
      const { k } = this.transform;
      this.moveBy((before.x - after.x) * k, (before.y - after.y) * k);
    }
  }

  box(world, box) {
    const { eclass, width, height } = box;
    const classes = ["box", eclass.chosen && "chosen", eclass.isNew && "new", eclass.absorbed.length && "merged", this.found.has(eclass.id) && "found"];
    const group = make(world, "g", {
      class: classes.filter(Boolean).join(" "),
      transform: `translate(${box.x.toFixed(1)},${box.y.toFixed(1)})`,
      tabindex: "0",
      role: "group",
      "data-id": eclass.id,
      "aria-label": `class c${eclass.id}, ${eclass.type} ${boundsText(eclass)}, ${eclass.term}, ${eclass.nodes.length} nodes`,
    });
    make(group, "rect", { class: "frame", width, height, rx: 5 });
    make(group, "path", { class: "head", d: `M0,${HEADER - 2}V5q0,-5 5,-5H${width - 5}q5,0 5,5V${HEADER - 2}Z` });
    make(group, "text", { class: "id", x: 8, y: 15 }, `c${eclass.id}`);
    make(group, "text", { class: "term", x: 14 + 7 * `c${eclass.id}`.length, y: 15 }, shorten(eclass.term, 34));
    const facts = [eclass.type, boundsText(eclass), divisorText(eclass)].filter(Boolean).join("  ");
    make(group, "text", { class: "facts", x: 8, y: 29 }, shorten(facts, 46));
    const users = [...this.state.users(eclass.id)].filter((id) => !this.shown.has(id));
    if (users.length) this.button(group, -4, HEADER / 2, `↑${users.length}`, `${users.length} classes that use c${eclass.id} are not shown: open them`, () => this.on.open(users, eclass), "end");
    if (!this.state.roots.includes(eclass.id)) this.button(group, width - 12, 12, "×", `put c${eclass.id} away`, () => this.on.close(eclass), "plain");
    else make(group, "text", { class: "root", x: width - 8, y: 29, "text-anchor": "end" }, "root");
    box.rows.forEach((node, row) => this.row(group, box, node, row));
    if (box.folded) {
      const y = HEADER + ROW * box.rows.length;
      this.link(group, 8, y + 13, `… ${box.folded} more nodes`, () => this.on.fold(eclass));
    }
    group.addEventListener("pointerenter", () => this.on.about(eclass));
    group.addEventListener("focus", () => {
      if (group.matches(":focus-visible")) this.bring(box);
      this.on.about(eclass);
    });
    group.addEventListener("keydown", (event) => this.boxKey(event, eclass, box));
    return group;
  }

  row(group, box, node, row) {
    const y = HEADER + ROW * row;
    const line = make(group, "g", { class: `row${node.chosen ? " chosen" : ""}${node.isNew ? " new" : ""}` });
    make(line, "rect", { class: "back", x: 1, y, width: box.width - 2, height: ROW });
    if (node.chosen) make(line, "rect", { class: "mark", x: 1, y: y + 2, width: 3, height: ROW - 4 });
    make(line, "text", { x: 10, y: y + 13 }, shorten(rowText(node, box.eclass)));
    make(line, "text", { class: "cost", x: box.width - 8, y: y + 13, "text-anchor": "end" }, nanoseconds(node.cost));
    line.addEventListener("pointerenter", () => this.on.about(box.eclass, node));
    const closed = this.closed(node);
    if (closed.length) {
      const hidden = this.hiddenBelow(closed);
      const label = `${closed.map((id) => `c${id}`).join(" and ")}: ${hidden} classes not shown`;
      this.button(line, box.width + 3, y + ROW / 2, `+${hidden}`, `open ${label}`, () => this.on.open(closed, box.eclass), "start");
    }
  }

  closed(node) {
    return [...new Set(node.operands)].filter((id) => !this.shown.has(id) && this.state.classes.has(id));
  }

  hiddenBelow(ids) {
    const key = ids.join();
    if (!this.hidden.has(key)) this.hidden.set(key, this.state.hiddenBelow(ids, this.shown));
    return this.hidden.get(key);
  }

  button(parent, x, y, text, label, act, kind) {
    const wide = 7 * text.length + 8;
    const group = make(parent, "g", { class: `button ${kind}`, role: "button", "aria-label": label, transform: `translate(${x},${y})` });
    make(group, "title", {}, label);
    const left = kind === "end" ? -wide : kind === "start" ? 0 : -wide / 2;
    make(group, "rect", { x: left, y: -8, width: wide, height: 16, rx: 8 });
    make(group, "text", { x: left + wide / 2, y: 4, "text-anchor": "middle" }, text);
    this.clicks(group, act);
  }

  link(parent, x, y, text, act) {
    this.clicks(make(parent, "text", { class: "link", role: "button", x, y }, text), act);
  }

  clicks(element, act) {
    element.addEventListener("pointerdown", (event) => event.stopPropagation());
    element.addEventListener("mousedown", (event) => event.stopPropagation());
    element.addEventListener("click", (event) => {
      event.stopPropagation();
      act();
    });
  }

  // What is far outside of the view is not part of the page, and texts too small to be read are not drawn: those take the time.
  moved(transform) {
    this.world.setAttribute("transform", transform);
    this.svg.classList.toggle("far", transform.k < READABLE);
    const [width, height] = this.size;
    const [left, top] = transform.invert([-MARGIN, -MARGIN]);
    const [right, bottom] = transform.invert([width + MARGIN, height + MARGIN]);
    for (const part of this.parts ?? []) {
      const [x0, y0, x1, y1] = part.area;
      const here = x1 >= left && x0 <= right && y1 >= top && y0 <= bottom;
      if (here !== part.here) part.element.style.visibility = (part.here = here) ? "" : "hidden";
    }
  }

  // keys ----------------------------------------------------------------------------------------------------------
  key(event) {
    const step = 60;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) this.moveBy(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.25);
    else if (event.key === "-") this.zoomBy(0.8);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  boxKey(event, eclass, box) {
    if (event.key === "Enter" || event.key === " ") this.on.open(box.rows.flatMap((node) => this.closed(node)), eclass);
    else if (event.key === "u") this.on.open([...this.state.users(eclass.id)], eclass);
    else if (event.key === "m") this.on.fold(eclass);
    else if (event.key === "Delete" || event.key === "Backspace") this.on.close(eclass);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // where we look -------------------------------------------------------------------------------------------------
  get transform() {
    return this.svg.__zoom;
  }

  moveBy(x, y) {
    const { k } = this.transform;
    this.selection.call(this.zoom.translateBy, x / k, y / k);
  }

  zoomBy(factor) {
    this.selection.call(this.zoom.scaleBy, factor);
  }

  fit() {
    const [width, height] = this.size;
    if (!width || !this.arranged) return;
    const margin = 60;
    const scale = Math.min(1.1, (width - margin) / this.arranged.width, (height - margin) / this.arranged.height);
    const k = Math.max(scale, 0.08);
    this.selection.call(this.zoom.transform, zoomIdentity.translate((width - k * this.arranged.width) / 2, (height - k * this.arranged.height) / 2).scale(k));
  }

  // readable at the first sight: the roots at the left, even if not all fits
  open(ids) {
    const [width, height] = this.size;
    const fits = Math.min((width - 60) / this.arranged.width, (height - 60) / this.arranged.height);
    const box = this.arranged.boxes.get(ids[0]);
    if (!box || fits >= 0.55) return this.fit();
    const k = 0.75;
    this.selection.call(this.zoom.transform, zoomIdentity.translate(40 - k * box.x, height / 2 - k * (box.y + box.height / 2)).scale(k));
  }

  // move as little as is needed to have a box in view
  bring({ x, y, width, height }) {
    const within = (first, last, most) => Math.min(Math.max(0, -first), Math.max(most - last, -first));
    const [left, top] = this.transform.apply([x, y]);
    const [right, bottom] = this.transform.apply([x + width, y + height]);
    const across = left < 0 || right > this.size[0] ? within(left, right, this.size[0]) : 0;
    const down = top < 0 || bottom > this.size[1] ? within(top, bottom, this.size[1]) : 0;
    if (across || down) this.moveBy(across, down);
  }

  centre(id) {
    const box = this.arranged.boxes.get(id);
    if (!box) return;
    const [width, height] = this.size;
    const k = Math.max(this.transform.k, 0.7);
    this.selection.call(this.zoom.transform, zoomIdentity.translate(width / 2 - k * (box.x + box.width / 2), height / 2 - k * (box.y + box.height / 2)).scale(k));
    this.world.querySelector(`.box[data-id="${id}"]`)?.focus({ preventScroll: true });
  }
}
