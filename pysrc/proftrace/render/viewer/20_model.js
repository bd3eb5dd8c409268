'use strict';
// The tree as typed arrays, in preorder. Pure.
//
// Node 0 is the root. `end[node]` is the first node behind its subtree, `start[node]` its left edge
// in units of the first metric (children stand at the left of their parent, own values at the
// right). `rowNodes[rowStart[d]] .. rowNodes[rowStart[d + 1] - 1]` are the nodes of depth d from
// left to right, and `rowSums[k][i]` is the sum of metric k over its row up to and with rowNodes[i]
// (each row for itself: no sum is larger than the root, so all of them are exact).

function buildModel({ header, columns }) {
  const count = header.n;
  const model = {
    count,
    metrics: header.metrics,
    places: buildPlaces(header.strings, columns),
    place: Uint32Array.from(columns.place),
    depth: new Uint32Array(count),
    parent: new Uint32Array(count),
    end: new Uint32Array(count),
    start: new Float64Array(count),
    own: header.metrics.map((_, k) => spread(count, columns.own_at, columns[`own_${k}`])),
    total: [],
  };
  placeInTree(model, columns.pops);
  model.total = model.own.map((own) => sumUp(own, model.parent));
  placeFromLeft(model);
  buildRows(model);
  return model;
}

function buildPlaces(strings, columns) {
  return Array.from(columns.place_name, (name, i) => ({
    name: strings[name],
    file: strings[columns.place_file[i]],
    line: columns.place_line[i],
    origin: columns.place_origin[i],
  }));
}

function spread(count, steps, values) {
  const column = new Float64Array(count);
  let node = 0;
  for (let i = 0; i < steps.length; i++) {
    node += steps[i];
    column[node] = values[i];
  }
  return column;
}

function placeInTree(model, pops) {
  const { count, depth, parent, end } = model;
  const path = [0];
  for (let node = 1; node < count; node++) {
    for (let left = pops[node - 1]; left > 0; left--) end[path.pop()] = node;
    depth[node] = path.length;
    parent[node] = path[path.length - 1];
    path.push(node);
  }
  while (path.length) end[path.pop()] = count;
}

function sumUp(own, parent) {
  const total = Float64Array.from(own);
  for (let node = total.length - 1; node > 0; node--) total[parent[node]] += total[node];
  return total;
}

function placeFromLeft(model) {
  const { count, parent, start, total } = model;
  const next = new Float64Array(count); // where the next child of a node begins
  for (let node = 1; node < count; node++) {
    start[node] = next[parent[node]];
    next[node] = start[node];
    next[parent[node]] += total[0][node];
  }
}

function buildRows(model) {
  const { count, depth, total } = model;
  let deepest = 0;
  for (let node = 0; node < count; node++) if (depth[node] > deepest) deepest = depth[node];
  const rowStart = new Uint32Array(deepest + 2);
  for (let node = 0; node < count; node++) rowStart[depth[node] + 1]++;
  for (let row = 0; row <= deepest; row++) rowStart[row + 1] += rowStart[row];
  const rowNodes = new Uint32Array(count);
  const free = Uint32Array.from(rowStart);
  for (let node = 0; node < count; node++) rowNodes[free[depth[node]]++] = node;
  const rowSums = total.map((values) => {
    const sums = new Float64Array(count);
    for (let row = 0; row <= deepest; row++) {
      let sum = 0;
      for (let i = rowStart[row]; i < rowStart[row + 1]; i++) sums[i] = sum += values[rowNodes[i]];
    }
    return sums;
  });
  Object.assign(model, { rows: deepest + 1, rowStart, rowNodes, rowSums });
}

function deepestBelow(model, node) {
  let deepest = model.depth[node];
  for (let below = node; below < model.end[node]; below++) {
    if (model.depth[below] > deepest) deepest = model.depth[below];
  }
  return deepest;
}

// The nodes from the root to a node, both included.
function pathTo(model, node) {
  const path = [node];
  while (node > 0) {
    node = model.parent[node];
    path.push(node);
  }
  return path.reverse();
}

function isWithin(model, node, ancestor) {
  return node >= ancestor && node < model.end[ancestor];
}

// The sibling to the left (-1) or right (1), as drawn, or the node itself at the edge.
function siblingOf(model, node, step) {
  const parent = model.parent[node];
  if (node === 0) return 0;
  if (step > 0) return model.end[node] < model.end[parent] ? model.end[node] : node;
  let sibling = parent + 1;
  if (sibling === node) return node;
  while (model.end[sibling] !== node) sibling = model.end[sibling];
  return sibling;
}

function locationOf(place) {
  return place.file && place.line ? `${place.file}:${place.line}` : place.file;
}

function shortLocationOf(place) {
  return locationOf(place).replace(/^.*[/\\](?=.)/, '');
}

// The largest callee, or the node itself when it called nothing.
function firstChildOf(model, node) {
  return model.end[node] > node + 1 ? node + 1 : node;
}
