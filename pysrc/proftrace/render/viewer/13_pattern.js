'use strict';
// What is typed into a search field. Pure.

// Return {test, valid}: a case-insensitive regular expression, or the plain text when it is none.
function compileSearch(pattern) {
  try {
    const regex = new RegExp(pattern, 'i');
    return { valid: true, test: (text) => regex.test(text) };
  } catch {
    const plain = pattern.toLowerCase();
    return { valid: false, test: (text) => text.toLowerCase().includes(plain) };
  }
}
