'use strict';
// What a page does before there is anything to see, or when there is nothing.

function showMessage(text) {
  const message = document.getElementById('message');
  message.textContent = text;
  message.hidden = false;
}

// Return the data of the page, decoded; the page does not keep them as text.
async function takePayload() {
  const data = document.getElementById('data');
  const payload = decodePayload(await inflateRaw(bytesFromBase64(data.textContent)));
  data.textContent = '';
  return payload;
}

// The state of the page for tests and for scripts: data, not pixels.
function exposeReadOnly(state) {
  Object.defineProperty(window, '__viewer', { value: Object.freeze(state) });
}
