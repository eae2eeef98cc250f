// Boxes for classes and lines for operands: sizes from texts, places from dagre.

import { Graph as Dagre, layout } from "@dagrejs/dagre";
import { boundsText, nanoseconds, rowText } from "./graph.js";

export const ROW = 18;
export const HEADER = 36;
const CHARACTER = 6.7; // of the picture's font, 11px monospace
const PADDING = 10;
const MOST_CHARACTERS = 44;
const ROWS = 7;
// more boxes than these are laid out with less care, or it takes seconds: they are ordered once and not twice, and a class with more lines
// than MOST_LED, such as a shape that all tensors have, lies beside one of its users, with only that line led around boxes
const CAREFUL = 60;
const MOST_LED = 8;

export function shorten(text, most = MOST_CHARACTERS) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// The rows of a class: its nodes, or the first of them and one that opens the others.
export function rowsOf(eclass, unfolded) {
  if (unfolded.has(eclass.leader) || eclass.nodes.length <= ROWS + 1) return { nodes: eclass.nodes, folded: 0 };
  const nodes = eclass.nodes.filter((node, k) => k < ROWS || node.isNew).slice(0, 2 * ROWS);
  return { nodes, folded: eclass.nodes.length - nodes.length };
}

// {boxes: Map id -> {eclass, x, y, width, height, rows, folded}, lines: [{from, row, to, points}], width, height}
export function arrange(state, shown, unfolded) {
  const dagre = new Dagre({ multigraph: true });
  dagre.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 46, edgesep: 6, acyclicer: "greedy" });
  dagre.setDefaultEdgeLabel(() => ({}));
  const boxes = new Map();
  for (const id of shown) {
    const box = boxOf(state.classes.get(id), unfolded);
    boxes.set(id, box);
    dagre.setNode(String(id), { width: box.width, height: box.height });
  }
  const lines = [];
  const into = new Map();
  for (const [id, box] of boxes) {
    box.rows.forEach((node, row) => {
      for (const to of new Set(node.operands)) {
        if (!boxes.has(to)) continue;
        const line = { from: id, row, to, node, key: `${id}-${row}-${to}` };
        lines.push(line);
        if (to !== id) into.set(to, [...(into.get(to) ?? []), line]);
      }
    });
  }
  const careful = shown.size <= CAREFUL;
  for (const [to, all] of into) {
    for (const line of careful || all.length <= MOST_LED ? all : all.slice(-1)) {
      line.led = true;
      dagre.setEdge(String(line.from), String(to), { weight: line.node.chosen ? 3 : 1 }, line.key);
    }
  }
  layout(dagre, { disableOptimalOrderHeuristic: !careful });
  for (const [id, box] of boxes) {
    const { x, y } = dagre.node(String(id));
    box.x = x - box.width / 2;
    box.y = y - box.height / 2;
  }
  for (const line of lines) {
    const between = !line.led ? [] : dagre.edge(String(line.from), String(line.to), line.key).points.slice(1, -1);
    const points = pointsOf(line, boxes.get(line.from), boxes.get(line.to), between);
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
    line.path = line.from === line.to ? loop(...points) : curve(points);
    line.area = [Math.min(...xs), Math.min(...ys), Math.max(...xs) + 22, Math.max(...ys)];
  }
  const { width, height } = dagre.graph();
  return { boxes, lines, width: width || 1, height: height || 1 };
}

function boxOf(eclass, unfolded) {
  const { nodes, folded } = rowsOf(eclass, unfolded);
  const texts = nodes.map((node) => shorten(rowText(node, eclass)).length + nanoseconds(node.cost).length + 6);
  const second = `${eclass.type} ${boundsText(eclass)}`.length * 0.92 + 6;
  const characters = Math.max(18, shorten(eclass.term, 34).length + String(eclass.id).length + 9, Math.min(second, 42), ...texts);
  const height = HEADER + ROW * (nodes.length + (folded ? 1 : 0)) + 4;
  return { eclass, rows: nodes, folded, width: characters * CHARACTER + PADDING, height };
}

// Where a line goes: from its row to the header of the operand, on the sides that face each other.
function pointsOf(line, from, to, between) {
  const y = from.y + HEADER + ROW * (line.row + 0.5);
  const target = to.y + HEADER / 2;
  const right = from.x + from.width;
  if (line.from === line.to) return [[right, y], [right, target]];
  const forward = to.x > from.x;
  return [[forward ? right : from.x, y], ...between.map((point) => [point.x, point.y]), [forward ? to.x - 3 : to.x + to.width + 3, target]];
}

function loop([x, y], [, target]) {
  return `M${x},${y}c22,0 22,${target - y} 0,${target - y}`;
}

function curve(points) {
  let path = `M${points[0][0].toFixed(1)},${points[0][1].toFixed(1)}`;
  for (let k = 1; k < points.length; k++) {
    const [a, b] = points[k - 1];
    const [x, y] = points[k];
    const middle = ((a + x) / 2).toFixed(1);
    path += `C${middle},${b.toFixed(1)} ${middle},${y.toFixed(1)} ${x.toFixed(1)},${y.toFixed(1)}`;
  }
  return path;
}
