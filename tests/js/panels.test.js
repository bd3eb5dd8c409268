'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { load, dataOf } = require('./load.js');

const { buildModel, factsOf, sentenceOf, stackText, shorten, labelOf, cutText } = load(
  'buildModel', 'factsOf', 'sentenceOf', 'stackText', 'shorten', 'labelOf', 'cutText');

const leaf = { place: 2, own: 3072, blocks: 3 };
const model = buildModel(dataOf({
  own: 0, children: [{ place: 1, own: 1024, blocks: 1, children: [leaf] }],
}));

test('a frame is described by total, own, number and shares', () => {
  assert.deepEqual(factsOf(model, 2, 0, 'blocks'), [
    ['total', '3.0 KiB · 75.0 % of all'],
    ['own', '3.0 KiB · 75.0 % of all'],
    ['blocks', '3, own 3'],
    ['of its caller', '75.0 %'],
  ]);
});

test('inside a view its share of the view is told, for callers of the view it is not', () => {
  assert.deepEqual(factsOf(model, 2, 2, 'blocks').at(-1), ['of this view', '100.0 %']);
  assert.deepEqual(factsOf(model, 1, 2, 'blocks').at(-1), ['of its caller', '100.0 %']);
});

test('a frame is spoken in one sentence', () => {
  assert.equal(sentenceOf(model, 2), 'name2, app.py line 2, 3.0 KiB, 75.0 percent of all');
  assert.equal(sentenceOf(model, 0), 'name0, 4.0 KiB, 100.0 percent of all');
});

test('a stack is copied from the outermost frame inwards, without the root', () => {
  assert.equal(stackText(model, 2), 'name1 (/src/app.py:1)\nname2 (/src/app.py:2)');
  assert.equal(stackText(model, 0), '');
});

test('long texts lose their middle', () => {
  assert.equal(shorten('short'), 'short');
  const cut = shorten(`a${'x'.repeat(10_000)}z`);
  assert.match(cut, /^ax+…x+z$/);
  assert.ok(cut.length < 300);
});

test('a label is cut to its room and loses the location first', () => {
  const place = { name: 'parse_all', file: '/src/app.py', line: 25 };
  assert.equal(labelOf(place, 40), 'parse_all  app.py:25');
  assert.equal(labelOf(place, 17), 'parse_all  app.p…');
  assert.equal(labelOf(place, 12), 'parse_all');
  assert.equal(labelOf(place, 5), 'pars…');
  assert.equal(cutText('abc', 0), 'a…');
});

test('names that run from right to left are kept apart from their location', () => {
  const place = { name: 'שלום', file: '/src/app.py', line: 25 };
  assert.equal(labelOf(place, 40), '\u2068שלום\u2069  app.py:25');
});
