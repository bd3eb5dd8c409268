'use strict';
// The data of the page: base64 text -> deflate -> header and columns. render/payload.py writes
// it. Pure but for DecompressionStream.

const CODEC_VERSION = 1;

function bytesFromBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflateRaw(bytes) {
  if (typeof DecompressionStream === 'undefined') {
    throw new Error('This browser cannot unpack the data (it has no DecompressionStream).');
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Decode a column of varints. Values may exceed 32 bits, so high groups are multiplied, not
// shifted; up to 2^53 they are exact.
function decodeVarints(bytes) {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] < 0x80) count++;
  const values = new Float64Array(count);
  let index = 0;
  let value = 0;
  let factor = 1;
  for (let i = 0; i < bytes.length; i++) {
    value += (bytes[i] & 0x7f) * factor;
    if (bytes[i] < 0x80) {
      values[index++] = value;
      value = 0;
      factor = 1;
    } else {
      factor *= 128;
    }
  }
  return values;
}

// Split a payload into its header and its columns by name.
function decodePayload(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  if (header.v !== CODEC_VERSION) {
    throw new Error(`The data is of version ${header.v}; this page reads ${CODEC_VERSION}.`);
  }
  const columns = {};
  let offset = 4 + size;
  for (const [name, length] of header.columns) {
    columns[name] = decodeVarints(bytes.subarray(offset, offset + length));
    offset += length;
  }
  return { header, columns };
}
