// The data that Python sends (EGraph.to_json), and the e-graph as it was after any step.
//
// A node is stored once, over the classes of the step in which it appeared; steps say which classes became one.  The oldest of merged classes
// has the smallest id, and keeps it.

export class Graph {
  constructor(data) {
    this.data = data;
    this.text = (number) => data.texts[number];
    this.last = data.steps.length - 1;
    this.facts = new Map(data.classes.id.map((id, k) => [id, k]));
    const ids = data.nodes.home.concat(...data.steps.map((step) => step.merged.map(([absorbed]) => absorbed)), data.classes.id);
    this.size = ids.reduce((most, id) => Math.max(most, id), -1) + 1;
    this.states = new Map();
    this.final = this.leaders(this.last);
  }

  // for every class the one that it is part of after a step
  leaders(step) {
    const found = Int32Array.from({ length: this.size }, (_, id) => id);
    for (let k = 0; k <= step; k++) for (const [absorbed, into] of this.data.steps[k].merged) found[absorbed] = into;
    for (let id = 0; id < this.size; id++) found[id] = found[found[id]]; // always into an older one
    return found;
  }

  at(step) {
    if (!this.states.has(step)) {
      if (this.states.size > 8) this.states.delete(this.states.keys().next().value);
      this.states.set(step, new State(this, step));
    }
    return this.states.get(step);
  }
}

// The classes after a step, each with its nodes: {id, nodes, isNew, absorbed, kind, type, term, bounds, divisor}.
class State {
  constructor(graph, step) {
    const { data, text } = graph;
    const columns = data.nodes;
    this.step = step;
    this.graph = graph;
    this.classes = new Map();
    this.nodes = 0;
    const leaders = step === graph.last ? graph.final : graph.leaders(step);
    for (let k = 0; k < columns.home.length; k++) {
      if (columns.step[k] > step || (columns.gone[k] >= 0 && columns.gone[k] <= step)) continue;
      const id = leaders[columns.home[k]];
      let eclass = this.classes.get(id);
      if (!eclass) this.classes.set(id, (eclass = this.describe(id)));
      const operands = columns.operands[k].map((operand) => leaders[operand]);
      eclass.nodes.push({
        home: id,
        operands,
        operation: text(columns.operation[k]),
        template: text(columns.template[k]),
        cost: columns.cost[k],
        step: columns.step[k],
        rules: columns.rules[k].map(text),
        chosen: Boolean(columns.chosen[k]),
        isNew: columns.step[k] === step && step > 0,
      });
      this.nodes += 1;
    }
    for (const [absorbed, into] of data.steps[step].merged) {
      const eclass = this.classes.get(leaders[into]);
      if (eclass) eclass.absorbed.push(absorbed);
    }
    for (const eclass of this.classes.values()) {
      eclass.isNew = step > 0 && eclass.nodes.every((node) => node.isNew);
      eclass.chosen = eclass.nodes.some((node) => node.chosen);
      eclass.nodes.sort((a, b) => b.chosen - a.chosen || a.step - b.step);
    }
    this.roots = [...new Set(data.roots.map((root) => leaders[root]))].filter((root) => this.classes.has(root));
  }

  describe(id) {
    const { data, text, final, facts } = this.graph;
    const k = facts.get(final[id]);
    const known = k !== undefined;
    return {
      id,
      nodes: [],
      absorbed: [],
      leader: final[id],
      kind: known ? text(data.classes.kind[k]) : "",
      type: known ? text(data.classes.type[k]) : "no class at the end",
      term: known ? text(data.classes.term[k]) : "",
      bounds: known ? data.classes.bounds[k] : null,
      divisor: known ? data.classes.divisor[k] : null,
    };
  }

  // the classes whose nodes have a class as operand
  users(id) {
    if (!this._users) {
      this._users = new Map();
      for (const eclass of this.classes.values()) {
        for (const node of eclass.nodes) {
          for (const operand of node.operands) {
            if (operand === eclass.id) continue;
            if (!this._users.has(operand)) this._users.set(operand, new Set());
            this._users.get(operand).add(eclass.id);
          }
        }
      }
    }
    return this._users.get(id) ?? new Set();
  }

  // the classes on a shortest way from a shown class down to this one; just this one where there is none
  wayTo(id, shown) {
    const below = new Map([[id, undefined]]);
    for (const here of below.keys()) {
      if (shown.has(here)) {
        const way = [];
        for (let next = here; next !== undefined; next = below.get(next)) way.push(next);
        return way;
      }
      for (const user of this.users(here)) if (!below.has(user)) below.set(user, here);
    }
    return [id];
  }

  // how many classes are reached from these without passing through a shown one
  hiddenBelow(ids, shown) {
    const seen = new Set(ids);
    const stack = [...ids];
    while (stack.length) {
      for (const node of this.classes.get(stack.pop())?.nodes ?? []) {
        for (const operand of node.operands) {
          if (!seen.has(operand) && !shown.has(operand) && this.classes.has(operand)) {
            seen.add(operand);
            stack.push(operand);
          }
        }
      }
    }
    return seen.size;
  }

  // what was extracted, then what is around it, up to so many classes
  neighbourhood(limit) {
    const found = new Set();
    const reach = (from, next) => {
      const queue = [...from];
      for (const id of queue) {
        if (found.size >= limit) return;
        if (!this.classes.has(id)) continue;
        found.add(id);
        for (const other of next(this.classes.get(id))) if (!queue.includes(other)) queue.push(other);
      }
    };
    const start = this.roots.length ? this.roots : [...this.classes.keys()].slice(0, 1);
    reach(start, (eclass) => eclass.nodes.filter((node) => node.chosen).flatMap((node) => node.operands));
    reach([...found], (eclass) => [...eclass.nodes.flatMap((node) => node.operands), ...this.users(eclass.id)]);
    for (const id of this.classes.keys()) if (found.size < limit) found.add(id);
    return found;
  }

  // a node with the terms of its operands in the place of their ids
  termOf(node) {
    return filled(node, (id) => bracketed(this.classes.get(id)?.term || `c${id}`));
  }

  // what is next to some classes and not among them: what they are made of, then what uses them, few users first
  around(ids) {
    const found = new Set([...ids].flatMap((id) => this.classes.get(id).nodes.flatMap((node) => node.operands)));
    for (const id of [...ids].sort((a, b) => this.users(a).size - this.users(b).size)) for (const user of this.users(id)) found.add(user);
    return [...found].filter((id) => !ids.has(id) && this.classes.has(id));
  }

  // the classes that hold a text, blanks aside: in their id, term or type, or in an operation, text or rule of a node; those whose term it
  // is come first
  find(text) {
    const wanted = packed(text);
    if (!wanted) return [];
    if (/^c\d+$/.test(wanted)) {
      const id = Number(wanted.slice(1));
      const at = id < this.graph.size && [...this.classes.values()].find((eclass) => eclass.id === id || eclass.absorbed.includes(id));
      const now = at || [...this.classes.values()].find((eclass) => eclass.leader === this.graph.final[id]);
      return now ? [now] : [];
    }
    const holds = (part) => packed(part).includes(wanted);
    const found = [...this.classes.values()].filter(
      (eclass) =>
        holds(eclass.term) ||
        holds(eclass.type) ||
        eclass.nodes.some((node) => holds(node.operation) || holds(nodeText(node)) || holds(this.termOf(node)) || node.rules.some(holds)),
    );
    return found.sort((a, b) => (packed(a.term) !== wanted) - (packed(b.term) !== wanted));
  }
}

function packed(text) {
  return text.replace(/\s+/g, "").toLowerCase();
}

function bracketed(term) {
  return /\s/.test(term) ? `(${term})` : term;
}

// the text of a node, with `name` of each operand
function filled(node, name) {
  return node.template.replace(/\{\{|\}\}|\{(\d+)\}/g, (found, place) => (place === undefined ? found[0] : name(node.operands[place])));
}

export function nodeText(node) {
  return filled(node, (id) => `c${id}`);
}

// the text of a row: nodes of one class that read alike, as a written sum and one of many terms, say what they are
export function rowText(node, eclass) {
  const text = nodeText(node);
  return eclass.nodes.some((other) => other !== node && nodeText(other) === text) ? `${text}  (${node.operation})` : text;
}

export function nanoseconds(cost) {
  return cost === null ? "" : cost === 0 ? "0 ns" : `${Number(cost.toPrecision(3))} ns`;
}

export function boundsText({ bounds }) {
  return bounds ? `${bounds[0]}..${bounds[1]}` : "";
}

export function divisorText({ divisor }) {
  return divisor ? `${divisor[0]}·k${divisor[1] ? ` + ${divisor[1]}` : ""}` : "";
}
