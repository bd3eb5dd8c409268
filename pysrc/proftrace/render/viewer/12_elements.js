'use strict';
// Elements with text. Text goes in by textContent only: names are data.

const LONGEST_TEXT = 240;

function shorten(text) {
  if (text.length <= LONGEST_TEXT) return text;
  return `${text.slice(0, LONGEST_TEXT / 2)}…${text.slice(-LONGEST_TEXT / 2)}`;
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Fill a <dl> with [name, text] pairs.
function fillPairs(list, pairs) {
  list.replaceChildren(...pairs.map(([name, text]) => {
    const pair = element('div');
    pair.append(element('dt', name), element('dd', text));
    return pair;
  }));
}
