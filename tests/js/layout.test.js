'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { load, randomData, dataOf } = require('./load.js');

const { buildModel, layoutRows, rangeOf, rectAt, nodeAt, holdsNode } = load(
  'buildModel', 'layoutRows', 'rangeOf', 'rectAt', 'nodeAt', 'holdsNode');

// The nodes with a width that overlap a range in a row, one by one.
function seenNodes(model, range, row) {
  const nodes = [];
  for (let node = 0; node < model.count; node++) {
    const left = model.start[node];
    const right = left + model.total[0][node];
    if (model.depth[node] === row && right > left && left < range.to && right > range.from) {
      nodes.push(node);
    }
  }
  return nodes;
}

function nodesOfRect(model, rect) {
  const first = model.rowNodes.indexOf(rect.node, model.rowStart[rect.row]);
  return [...model.rowNodes.slice(first, first + rect.count)];
}

function checkRow(model, range, width, row) {
  const rects = layoutRows(model, range, width, row, row);
  const drawn = rects.flatMap((rect) => nodesOfRect(model, rect));
  const wide = drawn.filter((node) => model.total[0][node] > 0);
  assert.deepEqual(wide, seenNodes(model, range, row));
  const scale = width / (range.to - range.from);
  let edge = 0;
  for (const rect of rects) {
    const nodes = nodesOfRect(model, rect);
    for (const [k, values] of model.total.entries()) {
      assert.equal(rect.values[k], nodes.reduce((sum, node) => sum + values[node], 0));
    }
    const left = Math.max(model.start[rect.node], range.from);
    assert.ok(Math.abs(rect.x - (left - range.from) * scale) < 1e-6);
    assert.ok(rect.x >= edge - 1e-6 && rect.width > 0);
    assert.ok(rect.count === 1 || rect.width <= 1 + 1e-6, 'only what is narrow is merged');
    edge = rect.x + rect.width;
  }
  assert.ok(edge <= width + 1e-6);
  return rects;
}

for (const width of [40, 333, 5000]) {
  test(`every frame is in one rectangle of its value, ${width} pixels wide`, () => {
    for (const seed of [1, 2, 3, 4]) {
      const model = buildModel(randomData(seed, 600, { spread: 40 }));
      for (const zoom of [0, 1, 17, 300]) {
        if (model.total[0][zoom] === 0) continue;
        for (let row = 0; row < model.rows; row++) checkRow(model, rangeOf(model, zoom), width, row);
      }
    }
  });
}

test('a frame is in the one rectangle that stands for it', () => {
  const model = buildModel(randomData(6, 500, { spread: 40 }));
  const rects = layoutRows(model, rangeOf(model, 0), 60, 0, model.rows);
  assert.ok(rects.some((rect) => rect.count > 1));
  for (let node = 0; node < model.count; node++) {
    if (model.total[0][node] === 0) continue;
    const holding = rects.filter((rect) => holdsNode(model, rect, node));
    assert.equal(holding.length, 1);
    assert.ok(nodesOfRect(model, holding[0]).includes(node));
  }
});

test('callers of the zoomed frame fill the width, its neighbours are out of sight', () => {
  const model = buildModel(randomData(8, 300));
  const zoom = 40;
  assert.ok(model.total[0][zoom] > 0);
  const rects = layoutRows(model, rangeOf(model, zoom), 500, 0, model.depth[zoom]);
  assert.equal(rects.length, model.depth[zoom] + 1);
  rects.forEach((rect) => assert.deepEqual([rect.x, rect.width], [0, 500]));
});

test('a row of any length costs two rectangles a pixel at most', () => {
  const children = Array.from({ length: 50_000 }, (_, i) => ({ own: 1 + (i % 3 === 0), place: 1 }));
  children.sort((a, b) => b.own - a.own);
  const model = buildModel(dataOf({ own: 0, children }));
  const rects = layoutRows(model, rangeOf(model, 0), 800, 1, 1);
  assert.ok(rects.length <= 1602, `${rects.length}`);
  assert.equal(rects.reduce((sum, rect) => sum + rect.count, 0), 50_000);
  assert.equal(rects.reduce((sum, rect) => sum + rect.values[0], 0), model.total[0][0]);
});

test('blocks of zero bytes have no rectangle', () => {
  const children = [{ own: 5, place: 1 }, { own: 0, place: 2 }, { own: 0, place: 3 }];
  const model = buildModel(dataOf({ own: 5, children }));
  const rects = layoutRows(model, rangeOf(model, 0), 100, 0, 5);
  assert.deepEqual(rects.map((rect) => [rect.row, rect.node]), [[0, 0], [1, 1]]);
});

test('the frame under a pixel is found, also inside a merged rectangle', () => {
  const children = Array.from({ length: 1000 }, () => ({ own: 1, place: 1 }));
  const model = buildModel(dataOf({ own: 1000, children }));
  const range = rangeOf(model, 0);
  const rects = layoutRows(model, range, 100, 0, 1);
  assert.ok(rectAt(rects, 1, 10.2).count > 1);
  assert.equal(nodeAt(model, range, 100, 1, 10.2), 1 + 204);
  assert.equal(nodeAt(model, range, 100, 1, 60), -1);
  assert.equal(rectAt(rects, 1, 60), null);
  assert.equal(nodeAt(model, range, 100, 0, 60), 0);
  assert.equal(nodeAt(model, range, 100, 7, 1), -1);
});
