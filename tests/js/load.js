'use strict';
// Loads the viewer's scripts as the page does: all in one scope, in the order of their names. Only
// the last file, which starts the page, is left out.

const fs = require('node:fs');
const path = require('node:path');

const VIEWER = path.join(__dirname, '..', '..', 'pysrc', 'proftrace', 'render', 'viewer');
const STARTER = '99_main.js';

function scripts(folder, wanted = () => true) {
  return fs.readdirSync(folder)
    .filter((name) => name.endsWith('.js') && name !== STARTER && wanted(name))
    .map((name) => [name, fs.readFileSync(path.join(folder, name), 'utf8')]);
}

function evaluate(files, names) {
  const source = files.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  return new Function(`${source.join('')}\nreturn { ${names.join(', ')} };`)();
}

function load(...names) {
  return evaluate(scripts(VIEWER), names);
}

// The scripts of the line report: those that all pages share, and its own.
function loadLines(...names) {
  const shared = scripts(VIEWER, (name) => name.startsWith('1'));
  return evaluate([...shared, ...scripts(path.join(VIEWER, 'lines'))], names);
}

// The same numbers on every run: a linear congruential generator.
function randomNumbers(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

// Decoded data of a random tree: `header` and `columns` as decodePayload returns them. Children
// stand by total, largest first, as in a page.
function randomData(seed, size, { spread = 3, largest = 50 } = {}) {
  const random = randomNumbers(seed);
  const nodes = [{ children: [], own: 0, blocks: 0, place: 0 }];
  for (let i = 1; i < size; i++) {
    const parent = nodes[Math.max(0, nodes.length - 1 - random(spread * 4))];
    const own = random(3) ? random(largest) : 0;
    const node = { children: [], own, blocks: own ? 1 + random(9) : 0, place: 1 + random(12) };
    parent.children.push(node);
    nodes.push(node);
  }
  for (const node of [...nodes].reverse()) {
    node.total = node.own + node.children.reduce((sum, child) => sum + child.total, 0);
    node.children.sort((a, b) => b.total - a.total);
  }
  return dataOf(nodes[0]);
}

// The data of a tree written as {place, own, blocks, children}.
function dataOf(root) {
  const order = [];
  const waiting = [[root, 0]];
  while (waiting.length) {
    const [node, depth] = waiting.pop();
    order.push({ ...node, depth });
    const children = node.children || [];
    for (let i = children.length - 1; i >= 0; i--) waiting.push([children[i], depth + 1]);
  }
  const used = order.map((node, i) => (node.own ? i : -1)).filter((i) => i >= 0);
  const places = order.reduce((most, node) => Math.max(most, node.place || 0), 0) + 1;
  const strings = ['', ...Array.from({ length: places }, (_, k) => `name${k}`), '/src/app.py'];
  const numbers = (make) => Array.from({ length: places }, (_, k) => make(k));
  return {
    order,
    header: {
      v: 1,
      n: order.length,
      metrics: [{ name: 'peak_bytes', unit: 'bytes' }, { name: 'peak_blocks', unit: 'count' }],
      strings,
    },
    columns: {
      pops: order.slice(1).map((node, i) => order[i].depth + 1 - node.depth),
      place: order.map((node) => node.place || 0),
      place_name: numbers((k) => k + 1),
      place_file: numbers((k) => (k ? strings.length - 1 : 0)),
      place_line: numbers((k) => k),
      place_origin: numbers((k) => k % 6),
      own_at: used.map((node, i) => node - (i ? used[i - 1] : 0)),
      own_0: used.map((node) => order[node].own),
      own_1: used.map((node) => order[node].blocks || 0),
    },
  };
}

module.exports = { load, loadLines, randomNumbers, randomData, dataOf };
