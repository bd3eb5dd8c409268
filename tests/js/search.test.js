'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { load, randomData, dataOf } = require('./load.js');

const { buildModel, compileSearch, searchModel, pathTo, searchResultText } = load(
  'buildModel', 'compileSearch', 'searchModel', 'pathTo', 'searchResultText');

test('a pattern is a regular expression that does not mind the case', () => {
  const { valid, test: matches } = compileSearch('^pars(e|er)$');
  assert.ok(valid);
  assert.deepEqual(['Parse', 'PARSER', 'parses'].map(matches), [true, true, false]);
});

test('an unfinished pattern is plain text', () => {
  const { valid, test: matches } = compileSearch('F(');
  assert.ok(!valid);
  assert.deepEqual(['f(x)', 'fx'].map(matches), [true, false]);
});

// What a pattern covers, by looking at the whole stack of every node.
function coveredByPattern(model, pattern) {
  const regex = new RegExp(pattern, 'i');
  const isMatch = (node) => {
    const place = model.places[model.place[node]];
    return regex.test(`${place.name} ${place.file}:${place.line}`);
  };
  const sums = [0, 0];
  let frames = 0;
  for (let node = 0; node < model.count; node++) {
    if (node > 0 && isMatch(node)) frames++;
    if (pathTo(model, node).slice(1).some(isMatch)) {
      sums[0] += model.own[0][node];
      sums[1] += model.own[1][node];
    }
  }
  return { frames, sums };
}

for (const pattern of ['name3', 'name[1-4] ', 'app\\.py:(2|7)$', '.', 'nothing']) {
  test(`the bytes of ${pattern} are counted once`, () => {
    for (const seed of [1, 2, 3]) {
      const model = buildModel(randomData(seed, 300));
      const { frames, sums } = coveredByPattern(model, pattern);
      const found = searchModel(model, pattern);
      assert.deepEqual([found.nodes, found.sums], [frames, sums]);
      const totals = found.outermost.map((node) => model.total[0][node]);
      assert.deepEqual(totals, [...totals].sort((a, b) => b - a));
      assert.equal(totals.reduce((sum, value) => sum + value, 0), sums[0]);
    }
  });
}

test('recursion is counted once', () => {
  const inner = { place: 1, own: 1, children: [{ place: 1, own: 1 }] };
  const model = buildModel(dataOf({ own: 1, children: [{ place: 1, own: 1, children: [inner] }] }));
  const found = searchModel(model, 'name1');
  assert.deepEqual([found.nodes, found.sums[0], found.outermost], [3, 3, [1]]);
  assert.equal(searchResultText(model, found), '3 frames · 3 B · 75.0 % of all');
});

test('the result says when a pattern is none, and when nothing matches', () => {
  const model = buildModel(dataOf({ own: 1 }));
  assert.equal(searchResultText(model, null), '');
  assert.equal(searchResultText(model, searchModel(model, 'x')), 'no match');
  assert.match(searchResultText(model, searchModel(model, '(')), /^not a regular expression/);
});
