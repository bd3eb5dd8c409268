'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const zlib = require('node:zlib');
const { load } = require('./load.js');

const { bytesFromBase64, inflateRaw, decodeVarints, decodePayload } = load(
  'bytesFromBase64', 'inflateRaw', 'decodeVarints', 'decodePayload');

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 127n) | 128);
  }
}

function payloadOf(header, ...columns) {
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  return new Uint8Array(Buffer.concat([size, text, ...columns.map((bytes) => Buffer.from(bytes))]));
}

test('varints are exact up to 2^53 - 1', () => {
  const values = [0, 1, 127, 128, 300, 2 ** 31, 2 ** 32 + 1, 2 ** 40 - 1, 2 ** 53 - 1];
  assert.deepEqual([...decodeVarints(Uint8Array.from(values.flatMap(varint)))], values);
});

test('an empty column has no values', () => {
  assert.equal(decodeVarints(new Uint8Array()).length, 0);
});

test('a payload splits into its columns', () => {
  const header = { v: 1, columns: [['a', 3], ['b', 0], ['c', 1]], strings: ['</script>', '\ud800'] };
  const { header: read, columns } = decodePayload(payloadOf(header, [...varint(300), 5], [], [7]));
  assert.deepEqual(read.strings, header.strings);
  assert.deepEqual([[...columns.a], [...columns.b], [...columns.c]], [[300, 5], [], [7]]);
});

test('a payload of another version is refused', () => {
  assert.throws(() => decodePayload(payloadOf({ v: 2, columns: [] })), /version 2.*reads 1/);
});

test('base64 and deflate come back as the bytes that went in', async () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * i) % 256);
  const text = zlib.deflateRawSync(bytes).toString('base64');
  assert.deepEqual(await inflateRaw(bytesFromBase64(`\n${text}\n`)), bytes);
});

test('damaged data is an error, not a wrong graph', async () => {
  const deflated = zlib.deflateRawSync(Buffer.alloc(5000, 'abc'));
  await assert.rejects(inflateRaw(new Uint8Array(deflated.subarray(0, deflated.length - 3))));
});
