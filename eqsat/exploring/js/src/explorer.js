// The explorer: which classes of which step are shown, and the controls around the picture.

import { Graph, boundsText, divisorText, nanoseconds, nodeText } from "./graph.js";
import { Picture } from "./picture.js";

// boxes at first: as many as can be read, by the area of the picture in pixels
const AREA_OF_A_BOX = 18000;
const AT_FIRST = [12, 40];
const MOST_BOXES = 200;
const RESULTS = 30;
const HELP = [
  "Boxes are classes of equal terms, rows are nodes: ways to compute the class. Blue is what was extracted, green is new in this step, a dashed frame took in other classes in this step, and a pink one was searched for.",
  "+n opens what a row is made of and says how many classes that hides; ↑n opens what uses a class. Ctrl and wheel zoom, drag moves; click the picture first and the wheel is enough.",
  "Keys: tab from box to box, enter opens operands, u users, m more nodes, delete puts away; arrows move, + − 0 zoom.",
];
// in the place of a row, of nodes that no row made
const NAMED = "name of a class";

function html(parent, name, attributes = {}, text = undefined) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

export class Explorer {
  constructor(root, data) {
    this.graph = new Graph(data);
    this.root = root;
    this.step = this.graph.last;
    this.unfolded = new Set();
    this.found = new Set();
    this.build();
    // classes are wanted under the ids that they have at the end, so that they stay from step to step
    this.wanted = new Set();
    this.whenSized(() => this.reset());
  }

  get state() {
    return this.graph.at(this.step);
  }

  leadersOf(ids) {
    return new Set([...ids].map((id) => this.graph.final[id]));
  }

  // controls --------------------------------------------------------------------------------------------------------
  build() {
    const { data, last } = this.graph;
    const bar = html(this.root, "div", { class: "bar" });
    this.search = html(bar, "input", { type: "search", class: "search", placeholder: "operation, rule, class or variable", "aria-label": "search classes" });
    this.search.addEventListener("input", () => this.look());
    this.search.addEventListener("keydown", (event) => event.key === "Enter" && this.results.querySelector("button")?.click());
    const button = (text, label, act) => html(bar, "button", { type: "button", title: label, "aria-label": label }, text).addEventListener("click", act);
    button("chosen", "show what was extracted and its neighbourhood", () => this.reset());
    button("grow", "open what is next to what is shown, as many classes again", () => this.grow());
    button("fit", "see all that is shown", () => this.picture.fit());
    button("−", "zoom out", () => this.picture.zoomBy(0.8));
    button("+", "zoom in", () => this.picture.zoomBy(1.25));
    button("?", "what colours and keys mean", () => this.help());
    this.count = html(bar, "span", { class: "count", role: "status" });
    const middle = html(this.root, "div", { class: "middle" });
    this.picture = new Picture(middle, {
      open: (ids, eclass) => this.open(ids, eclass),
      fold: (eclass) => this.fold(eclass),
      close: (eclass) => this.close(eclass),
      about: (eclass, node) => this.about(eclass, node),
    });
    const side = html(middle, "div", { class: "side" });
    this.results = html(side, "div", { class: "results" });
    this.details = html(side, "div", { class: "details" });
    const foot = html(this.root, "div", { class: "foot" });
    this.slider = html(foot, "input", { type: "range", min: 0, max: last, value: last, step: 1, "aria-label": "step of saturation" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.happened = html(foot, "div", { class: "happened" });
    html(this.root, "div", { class: "what", title: data.what }, `${data.what}${data.costs ? `   ${nanoseconds(data.costs[0])} → ${nanoseconds(data.costs[1])}` : ""}   ${data.stopped}`);
    this.more = html(foot, "button", { type: "button", class: "all", hidden: "" }, "all");
    this.more.title = "show all that this step did, or its beginning";
    this.more.addEventListener("click", () => this.more.setAttribute("aria-pressed", this.happened.classList.toggle("open")));
    new ResizeObserver(() => this.tellRoom()).observe(this.happened);
    this.help();
  }

  // what is shown -----------------------------------------------------------------------------------------------------
  shown() {
    const { classes } = this.state;
    return new Set([...classes.values()].filter((eclass) => this.wanted.has(eclass.leader)).map((eclass) => eclass.id));
  }

  draw(anchor) {
    const shown = this.shown();
    this.picture.draw(this.state, shown, { unfolded: this.unfolded, found: this.found, anchor });
    this.tellCount();
    this.tell();
  }

  tellCount(more = "") {
    const { classes, nodes } = this.state;
    this.count.textContent = `${this.shown().size} of ${classes.size} classes shown, ${nodes} nodes${more}`;
  }

  open(ids, eclass) {
    const room = Math.max(0, MOST_BOXES - this.wanted.size);
    const wanted = [...this.leadersOf(ids)].filter((id) => !this.wanted.has(id));
    for (const id of wanted.slice(0, room)) this.wanted.add(id);
    this.draw(eclass?.id);
    if (wanted.length > room) this.tellCount(` (at most ${MOST_BOXES} at a time; ${wanted.length - room} not opened)`);
  }

  close(eclass) {
    this.wanted.delete(eclass.leader);
    this.draw();
  }

  fold(eclass) {
    if (!this.unfolded.delete(eclass.leader)) this.unfolded.add(eclass.leader);
    this.draw(eclass.id);
  }

  grow() {
    const shown = this.shown();
    const ids = this.state.around(shown);
    const now = ids.slice(0, Math.min(Math.max(shown.size, AT_FIRST[0]), Math.max(0, MOST_BOXES - this.wanted.size)));
    if (now.length) this.open(now, this.state.classes.get(this.state.roots[0]));
    this.picture.fit();
    const left = this.state.around(this.shown()).length;
    const most = this.wanted.size >= MOST_BOXES ? ` (at most ${MOST_BOXES} at a time)` : "";
    this.tellCount(left ? `; ${left} more next to these${most}` : "");
  }

  reset() {
    const [width, height] = this.picture.size;
    const [least, most] = AT_FIRST;
    this.wanted = this.leadersOf(this.state.neighbourhood(Math.min(most, Math.max(least, Math.round((width * height) / AREA_OF_A_BOX)))));
    this.unfolded.clear();
    this.draw();
    this.picture.open(this.state.roots);
  }

  reveal(eclass) {
    this.open(this.state.wayTo(eclass.id, this.shown()), eclass);
    this.picture.centre(eclass.id);
    this.about(eclass);
  }

  // steps -------------------------------------------------------------------------------------------------------------
  go(step) {
    this.step = step;
    if (this.search.value) this.found = new Set(this.state.find(this.search.value).map((eclass) => eclass.id));
    this.draw(this.state.roots[0]);
    this.list();
  }

  tell() {
    const step = this.graph.data.steps[this.step];
    const added = step.added.reduce((sum, [, count]) => sum + count, 0);
    this.happened.replaceChildren();
    html(this.happened, "b", {}, `step ${this.step} of ${this.graph.last}`);
    const merged = step.merged.length ? `, ${step.merged.length} merged` : "";
    const gone = step.gone ? `, ${step.gone} nodes dropped` : "";
    html(this.happened, "span", {}, ` ${step.title}: ${added} nodes new${gone}${merged}; then ${step.nodes} nodes in ${step.classes} classes. `);
    for (const [row, count] of step.added) {
      if (row) {
        const title = row === NAMED ? "no rule made them: classes without a name got one through them" : `show what ${row} added in this step`;
        const chip = html(this.happened, "button", { type: "button", class: "chip", title }, `${row} +${count}`);
        chip.addEventListener("click", () => this.showAdded(row));
      }
    }
    const quiet = step.matches.filter(([row]) => !step.added.some(([other]) => other === row));
    if (quiet.length) html(this.happened, "span", { class: "quiet" }, `matched, no new node: ${quiet.map(([row, count]) => `${row} ${count}`).join(", ")}`);
    this.tellRoom();
  }

  // what a step did is cut off after some lines, and then there is a button that shows all
  tellRoom() {
    const { scrollHeight, clientHeight, classList } = this.happened;
    this.more.hidden = !classList.contains("open") && scrollHeight <= clientHeight + 1;
  }

  showAdded(row) {
    const made = [...this.state.classes.values()].filter((eclass) => eclass.nodes.some((node) => node.step === this.step && node.rules.includes(row)));
    this.found = new Set(made.map((eclass) => eclass.id));
    this.search.value = "";
    this.open(made.map((eclass) => eclass.id), made[0]);
    if (made.length) this.picture.centre(made[0].id);
    this.list(made, `${row}, step ${this.step}`);
  }

  // search ------------------------------------------------------------------------------------------------------------
  look() {
    const hits = this.state.find(this.search.value);
    this.found = new Set(hits.map((eclass) => eclass.id));
    this.draw();
    this.list(hits, `“${this.search.value}”`);
    if (!this.search.value) this.list();
  }

  list(hits = undefined, title = "", most = RESULTS) {
    this.results.replaceChildren();
    if (!hits) return;
    html(this.results, "div", { class: "title" }, `${title}: ${hits.length} classes`);
    for (const eclass of hits.slice(0, most)) {
      const item = html(this.results, "button", { type: "button", class: "hit" }, `c${eclass.id}  ${eclass.term}`);
      item.addEventListener("click", () => this.reveal(eclass));
    }
    if (hits.length > most) {
      const more = html(this.results, "button", { type: "button", class: "hit more" }, `${hits.length - most} more`);
      more.addEventListener("click", () => this.list(hits, title, most + 100));
    }
  }

  // what is under the pointer -----------------------------------------------------------------------------------------
  help() {
    this.details.replaceChildren();
    for (const text of HELP) html(this.details, "p", {}, text);
    this.details.scrollTop = 0;
  }

  about(eclass, node = undefined) {
    this.details.replaceChildren();
    const fact = (name, value) => {
      if (!value) return;
      const line = html(this.details, "div", { class: "fact" });
      html(line, "span", { class: "name" }, name);
      html(line, "span", {}, value);
    };
    html(this.details, "div", { class: "title" }, `c${eclass.id}  ${eclass.term}`);
    fact("type", eclass.type);
    fact("bounds", boundsText(eclass));
    fact("divisibility", divisorText(eclass));
    fact("nodes", String(eclass.nodes.length));
    fact("merged here", eclass.absorbed.map((id) => `c${id}`).join(" "));
    if (node) {
      html(this.details, "div", { class: "title" }, nodeText(node));
      fact("is", this.state.termOf(node));
      fact("operation", node.operation);
      fact("cost", nanoseconds(node.cost) || "no program is made of it");
      fact("rule", node.rules.join(", ") || "as written");
      fact("step", String(node.step));
      fact("", node.chosen ? "part of what was extracted" : "");
    }
  }

  // a notebook may make the widget before it has a size
  whenSized(act) {
    const observer = new ResizeObserver(() => {
      if (this.picture.size[0] > 0) {
        observer.disconnect();
        act();
      }
    });
    observer.observe(this.picture.svg);
  }
}
