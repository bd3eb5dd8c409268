'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { loadLines } = require('./load.js');

const lib = loadLines(
  'buildModel', 'sourceOf', 'sortFunctions', 'shareOfRun', 'hottestRows', 'callersOf', 'calleesOf',
  'usedColumns', 'searchModel', 'fragmentOf', 'parseFragment', 'formatTimeIn', 'perHit', 'barOf',
  'heatOf', 'factsOf', 'regimeText', 'lineFactsOf', 'sentenceOf', 'searchResultText');

// Two functions of one file: `outer` (lines 1-4) calls `inner` (line 6) from line 3.
function data(change = {}) {
  return {
    header: {
      strings: ['', 'outer', 'inner', '/src/app.py', 'a trace function was set'],
      texts: ['def outer():\n    a = 1\n    inner()\n    return a', 'inner = lambda: 0'],
    },
    columns: {
      name: [1, 2], file: [3, 3], first_line: [1, 6], calls: [2, 4], total: [1000, 600],
      total_error: [30, 0], self: [400, 600], self_error: [0, 5], yields: [0, 1],
      samples: [7, 0], discarded: [1, 0], regimes: [3, 1], reasons: [0, 4], text: [1, 2],
      length: [4, 1], rows: [3, 1], text_line: [1, 6],
      l_step: [2, 1, 1, 6], l_loop: [0, 0, 0, 0], l_hits: [2, 2, 0, 4], l_total: [100, 850, 50, 600],
      l_total_error: [0, 300, 0, 0], l_self: [100, 250, 50, 600], l_self_error: [0, 0, 0, 5],
      l_await: [0, 0, 9, 0], l_shortest: [40, 0, 0, 100], l_longest: [60, 0, 0, 200],
      l_samples: [0, 7, 0, 0], l_buckets: [6, 0, 0, 8],
      buckets: [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 3],
      c_caller: [1, 0], c_callee: [1, 1], c_line: [3, 0], c_calls: [4, 0], c_estimated: [0, 0],
      c_total: [600, 90],
      c_self: [600, 90],
      ...change,
    },
  };
}

const model = lib.buildModel(data());
const [outer, inner] = model.functions;

test('lines have their numbers, and what never ran has no row', () => {
  assert.deepEqual(lib.sourceOf(model, outer), [
    { number: 1, row: -1, text: 'def outer():' },
    { number: 2, row: 0, text: '    a = 1' },
    { number: 3, row: 1, text: '    inner()' },
    { number: 4, row: 2, text: '    return a' },
  ]);
  assert.deepEqual(lib.sourceOf(model, inner), [
    { number: 6, row: 3, text: 'inner = lambda: 0' },
  ]);
});

test('without a text the lines that ran are the source', () => {
  const bare = lib.buildModel(data({ text: [0, 0], length: [0, 0] }));
  assert.deepEqual(lib.sourceOf(bare, bare.functions[0]).map(({ number }) => number), [2, 3, 4]);
});

test('a column is there when it says something', () => {
  assert.deepEqual(lib.usedColumns(model, outer), { self: false, await: true });
  const slow = lib.buildModel(data({ l_total: [100, 85000, 50, 600] }));
  assert.equal(lib.usedColumns(slow, slow.functions[0]).self, true);
});

test('functions are sorted by a column, equal ones by time', () => {
  const order = (key, descending) => lib.sortFunctions(model, [0, 1], { key, descending }, 'total');
  assert.deepEqual(order('total', true), [0, 1]);
  assert.deepEqual(order('self', true), [1, 0]);
  assert.deepEqual(order('calls', false), [0, 1]);
  assert.deepEqual(order('name', false), [1, 0]);
  const equal = lib.buildModel(data({ calls: [2, 2] }));
  assert.deepEqual(lib.sortFunctions(equal, [1, 0], { key: 'calls', descending: true }, 'self'), [1, 0]);
});

test('a share of the run is never above one', () => {
  assert.equal(model.whole, 1000);
  assert.equal(lib.shareOfRun(model, outer, 'total'), 1);
  assert.equal(lib.shareOfRun(model, inner, 'self'), 0.6);
  const nothing = lib.buildModel(data({ l_self: [0, 0, 0, 0] }));
  assert.equal(lib.shareOfRun(nothing, nothing.functions[0], 'total'), 0);
});

test('the hottest rows come first', () => {
  assert.deepEqual(lib.hottestRows(model, outer, 'total'), [1, 0, 2]);
});

test('calls are seen from both ends', () => {
  assert.deepEqual(lib.callersOf(model, inner).map(({ caller, calls }) => [caller, calls]), [[0, 4], [-1, 0]]);
  assert.deepEqual(lib.calleesOf(model, outer).map(({ callee, line }) => [callee, line]), [[1, 3]]);
});

test('addresses name function and line and are read again', () => {
  assert.equal(lib.fragmentOf(outer, 0), '#outer@app.py:1');
  assert.equal(lib.fragmentOf(inner, 6), '#inner@app.py:6/L6');
  for (const [text, index, line] of [
    ['#inner@app.py:6/L6', 1, 6], ['#outer%40app.py%3A1', 0, 0], ['#outer@app.py:1', 0, 0],
    ['#nothing@app.py:1/L3', -1, 0], ['', -1, 0], ['#%E0%A4%A', -1, 0], ['#/L3', -1, 0],
  ]) {
    assert.deepEqual(lib.parseFragment(model, text), { index, line }, text);
  }
});

test('addresses of strange names are read again', () => {
  for (const name of ['<lambda>', 'a b/L3', '%41', '\u05e9', 'f.<locals>.g', '#?&', 'x'.repeat(999)]) {
    const { header, columns } = data();
    header.strings[1] = name;
    const strange = lib.buildModel({ header, columns });
    const fragment = lib.fragmentOf(strange.functions[0], 3);
    assert.deepEqual(lib.parseFragment(strange, fragment), { index: 0, line: 3 }, fragment);
    const asBrowser = new URL(`file:///x${fragment}`).hash;
    assert.deepEqual(lib.parseFragment(strange, asBrowser), { index: 0, line: 3 }, asBrowser);
  }
});

test('a search finds names, places and source, the hottest line first', () => {
  const found = lib.searchModel(model, 'inner', 'total');
  assert.deepEqual([...found.functions].sort(), [0, 1]);
  assert.deepEqual(found.lines, [[0, 3], [1, 6]]);
  assert.deepEqual(lib.searchModel(model, 'def', 'total').lines, [[0, 1]]);
  assert.deepEqual([...lib.searchModel(model, 'app.py:6', 'total').functions], [1]);
  assert.equal(lib.searchResultText(found), '2 functions, 2 lines');
  assert.equal(lib.searchResultText(lib.searchModel(model, 'x(', 'total')), 'not a regular expression; as text: no match');
});

test('a unit that was chosen is kept', () => {
  const shown = (value) => ['', 'ns', 'us', 'ms', 's'].map((unit) => lib.formatTimeIn(value, unit));
  assert.deepEqual(shown(1234567), ['1.23 ms', '1,234,567 ns', '1,234.6 us', '1.23 ms', '0.0012 s']);
  assert.deepEqual(shown(0), ['0 ns', '0 ns', '0.0000 us', '0.0000 ms', '0.0000 s']);
});

test('the time of a hit is rounded as in Python', () => {
  assert.deepEqual([[5, 2], [7, 2], [10, 3], [9, 0]].map((pair) => lib.perHit(...pair)), [2, 4, 3, 0]);
});

test('bars end at their value, whiskers stay inside', () => {
  assert.deepEqual(lib.barOf(500, 0, 1000), [0.5, 0.5, 0.5]);
  assert.deepEqual(lib.barOf(500, 100, 1000), [0.5, 0.4, 0.6]);
  assert.deepEqual(lib.barOf(50, 100, 1000), [0.05, 0, 0.15]);
  assert.deepEqual(lib.barOf(990, 100, 1000), [0.99, 0.89, 1]);
  assert.deepEqual(lib.barOf(500, 9, 1000), [0.5, 0.5, 0.5]);
  assert.deepEqual(lib.barOf(5, 1, 0), [0, 0, 0]);
});

test('heat has the steps of the terminal', () => {
  assert.deepEqual([0.05, 0.051, 0.21, 0.61].map(lib.heatOf), ['cool', 'mild', 'warm', 'hot']);
});

test('a function is described by times, errors, calls and how it was timed', () => {
  assert.deepEqual(lib.factsOf(model, outer, ''), [
    ['time', '1.00 us ± 30 ns · 100.0 % of all'],
    ['self', '400 ns · 40.0 % of all'],
    ['calls', '2'],
    ['per call', '500 ns'],
  ]);
  assert.deepEqual(lib.factsOf(model, inner, '').at(-1), ['suspensions', '1']);
  assert.equal(lib.regimeText(outer), 'timed by the clock and by samples: 7 samples, 1 more of the measuring itself left out');
  assert.equal(lib.regimeText(inner), 'timed by the clock (a trace function was set)');
});

test('a line is described by everything that is known of it', () => {
  assert.deepEqual(lib.lineFactsOf(model, outer, 0, ''), [
    ['hits', '2'],
    ['time', '100 ns · 10.0 %'],
    ['self', '100 ns · 10.0 %'],
    ['per hit', '50 ns'],
    ['shortest', '40 ns'],
    ['longest', '60 ns'],
  ]);
  assert.deepEqual(lib.lineFactsOf(model, outer, 2, '').slice(0, 2), [['hits', '0'], ['time', '50 ns · 5.0 %']]);
  assert.deepEqual(lib.lineFactsOf(model, outer, 2, '').at(-1), ['await', '9 ns']);
  assert.deepEqual(lib.lineFactsOf(model, outer, 1, '').at(-1), ['samples', '7']);
});
