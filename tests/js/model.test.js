'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { load, randomData, dataOf } = require('./load.js');

const {
  buildModel, deepestBelow, pathTo, isWithin, siblingOf, firstChildOf, locationOf, shortLocationOf,
} = load('buildModel', 'deepestBelow', 'pathTo', 'isWithin', 'siblingOf', 'firstChildOf',
  'locationOf', 'shortLocationOf');

// Parents, by the depths alone.
function parentsOf(order) {
  return order.map((node, i) => {
    let parent = i;
    while (parent > 0 && order[parent].depth >= node.depth) parent--;
    return parent;
  });
}

// Check every node of a model against sums and searches over the whole list of nodes.
function checkAgainstList(data) {
  const model = buildModel(data);
  const nodes = [...data.order.keys()];
  const parents = parentsOf(data.order);
  const isBelow = (i, node) => {
    while (i > node) i = parents[i];
    return i === node;
  };
  for (const node of nodes) {
    const subtree = nodes.filter((i) => isBelow(i, node));
    const sum = (name) => subtree.reduce((total, i) => total + (data.order[i][name] || 0), 0);
    assert.equal(model.depth[node], data.order[node].depth);
    assert.equal(model.parent[node], parents[node]);
    assert.equal(model.end[node], node + subtree.length);
    assert.equal(model.total[0][node], sum('own'));
    assert.equal(model.total[1][node], sum('blocks'));
    assert.equal(deepestBelow(model, node), Math.max(...subtree.map((i) => model.depth[i])));
    const children = nodes.filter((i) => i > 0 && parents[i] === node);
    assert.equal(firstChildOf(model, node), children[0] ?? node);
    let edge = model.start[node];
    children.forEach((child, at) => {
      assert.equal(siblingOf(model, child, 1), children[at + 1] ?? child);
      assert.equal(siblingOf(model, child, -1), children[at - 1] ?? child);
      assert.equal(model.start[child], edge);
      edge += model.total[0][child];
    });
  }
}

for (const size of [1, 2, 3, 10, 100, 400]) {
  test(`a tree of ${size} nodes has the totals and edges that follow from its own values`, () => {
    checkAgainstList(randomData(size, size));
  });
}

test('rows hold each node once, from left to right, with running sums', () => {
  const model = buildModel(randomData(5, 500));
  assert.deepEqual([...model.rowNodes].sort((a, b) => a - b), [...Array(500).keys()]);
  for (let row = 0; row < model.rows; row++) {
    let sum = 0;
    for (let i = model.rowStart[row]; i < model.rowStart[row + 1]; i++) {
      const node = model.rowNodes[i];
      assert.equal(model.depth[node], row);
      sum += model.total[0][node];
      assert.equal(model.rowSums[0][i], sum);
      if (i > model.rowStart[row]) {
        const before = model.rowNodes[i - 1];
        assert.ok(model.start[node] >= model.start[before] + model.total[0][before]);
      }
    }
  }
});

test('a path leads from the root to the node', () => {
  const model = buildModel(randomData(9, 200));
  const path = pathTo(model, 199);
  assert.equal(path[0], 0);
  assert.equal(path.at(-1), 199);
  path.slice(1).forEach((node, i) => assert.equal(model.parent[node], path[i]));
  path.forEach((node) => assert.ok(isWithin(model, 199, node)));
  assert.ok(!isWithin(model, 0, 199));
});

test('a hundred thousand levels need no recursion', () => {
  let root = { own: 7, blocks: 1 };
  for (let i = 1; i < 100_000; i++) root = { own: 0, place: i % 3, children: [root] };
  const model = buildModel(dataOf(root));
  assert.equal(model.rows, 100_000);
  assert.equal(model.total[0][0], 7);
  assert.equal(pathTo(model, 99_999).length, 100_000);
});

test('a location is a file and a line, as far as they are known', () => {
  assert.equal(locationOf({ file: '/src/app.py', line: 3 }), '/src/app.py:3');
  assert.equal(locationOf({ file: '/src/app.py', line: 0 }), '/src/app.py');
  assert.equal(locationOf({ file: '', line: 3 }), '');
  assert.equal(shortLocationOf({ file: '/src/app.py', line: 3 }), 'app.py:3');
  assert.equal(shortLocationOf({ file: 'C:\\src\\app.py', line: 3 }), 'app.py:3');
  assert.equal(shortLocationOf({ file: 'odd/', line: 0 }), 'odd/');
});
