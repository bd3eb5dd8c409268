'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const cases = require('../data/units.json');
const { load } = require('./load.js');

const { formatValue, formatShare, formatPercent } = load(
  'formatValue', 'formatShare', 'formatPercent');

for (const [value, unit, text] of cases.values) {
  test(`${value} in ${unit} is ${text}`, () => assert.equal(formatValue(value, unit), text));
}

for (const [part, whole, text] of cases.shares) {
  test(`${part} of ${whole} is ${text}`, () => assert.equal(formatShare(part, whole), text));
}

test('a percentage has its sign unless there is none', () => {
  assert.deepEqual([formatPercent(1, 4), formatPercent(1, 0)], ['25.0 %', '-']);
});
