'use strict';
// Functions, lines and calls of a line profile. Pure. render/line_codec.py writes the columns.
//
// `functions[i]` has its own numbers and `from .. to - 1`, the rows of its lines in `lines`, which
// has one column for each kind of value. `calls` has one item for each place that calls a function.

function buildModel({ header, columns }) {
  const { strings } = header;
  const model = {
    functions: [],
    lines: buildLines(columns),
    calls: [],
    texts: header.texts,
    textLines: Array.from(columns.text_line),
    whole: 0,
  };
  let row = 0;
  for (let i = 0; i < columns.name.length; i++) {
    const from = row;
    row += columns.rows[i];
    model.functions.push({
      index: i,
      name: strings[columns.name[i]],
      file: strings[columns.file[i]],
      reasons: strings[columns.reasons[i]],
      firstLine: columns.first_line[i],
      calls: columns.calls[i],
      total: columns.total[i],
      totalError: columns.total_error[i],
      self: columns.self[i],
      selfError: columns.self_error[i],
      yields: columns.yields[i],
      samples: columns.samples[i],
      discarded: columns.discarded[i],
      regimes: columns.regimes[i],
      text: columns.text[i] - 1,
      length: columns.length[i],
      from,
      to: row,
    });
  }
  // As everywhere: what the lines took themselves, so that a callee's time counts once.
  model.whole = columns.l_self.reduce((sum, time) => sum + time, 0);
  numberLines(model);
  addCalls(model, columns);
  nameFragments(model);
  return model;
}

function buildLines(columns) {
  const lines = { number: new Float64Array(columns.l_step.length), step: columns.l_step };
  for (const name of ['hits', 'total', 'self', 'await', 'loop', 'shortest', 'longest', 'samples']) {
    lines[name] = columns[`l_${name}`];
  }
  lines.totalError = columns.l_total_error;
  lines.selfError = columns.l_self_error;
  lines.nBuckets = columns.l_buckets;
  lines.buckets = columns.buckets;
  lines.bucketsAt = new Uint32Array(columns.l_step.length);
  let at = 0;
  for (let row = 0; row < lines.nBuckets.length; row++) {
    lines.bucketsAt[row] = at;
    at += lines.nBuckets[row];
  }
  return lines;
}

function numberLines({ functions, lines }) {
  for (const { from, to } of functions) {
    let number = 0;
    for (let row = from; row < to; row++) {
      number += lines.step[row];
      lines.number[row] = number;
    }
  }
}

function addCalls(model, columns) {
  for (let i = 0; i < columns.c_callee.length; i++) {
    model.calls.push({
      caller: columns.c_caller[i] - 1,
      callee: columns.c_callee[i],
      line: columns.c_line[i],
      calls: columns.c_calls[i],
      estimated: columns.c_estimated[i] === 1,
      total: columns.c_total[i],
      self: columns.c_self[i],
    });
  }
}

function baseName(file) {
  return file.slice(file.lastIndexOf('/') + 1);
}

// Addresses that stay the same when the page is made again: name@file:line, with ~2 behind it for
// the second function of that description.
function nameFragments(model) {
  model.byFragment = new Map();
  for (const one of model.functions) {
    const name = `${one.name.slice(0, 200)}@${baseName(one.file).slice(-100)}:${one.firstLine}`;
    const base = encodeURIComponent(name).replace(/%(3[AC]|3E|40)/g, decodeURIComponent);
    let fragment = base;
    for (let n = 2; model.byFragment.has(fragment); n++) fragment = `${base}~${n}`;
    model.byFragment.set(fragment, one.index);
    one.fragment = fragment;
  }
}

function fragmentOf(one, line) {
  return line ? `#${one.fragment}/L${line}` : `#${one.fragment}`;
}

// Return {index, line} of an address; index -1: it names no function, line 0: no line.
function parseFragment(model, text) {
  const [, name, line] = /^#?(.*?)(?:\/L(\d+))?$/s.exec(text);
  const known = model.byFragment.get(name) ?? model.byFragment.get(encodedAgain(name));
  return { index: known ?? -1, line: known === undefined ? 0 : Number(line || 0) };
}

// Some programs decode or encode addresses they pass on.
function encodedAgain(name) {
  try {
    return encodeURIComponent(decodeURIComponent(name))
      .replace(/%(3[AC]|3E|40)/g, decodeURIComponent);
  } catch {
    return name;
  }
}

// The lines of the source that a function has, each with the row of its values (-1: none).
function sourceOf(model, one) {
  const rows = new Map();
  for (let row = one.from; row < one.to; row++) rows.set(model.lines.number[row], row);
  const texts = one.text < 0 ? null : textLinesOf(model, one.text);
  const numbers = [];
  if (texts === null) {
    numbers.push(...rows.keys());
  } else {
    for (let k = 0; k < one.length; k++) numbers.push(one.firstLine + k);
  }
  const first = one.text < 0 ? 0 : model.textLines[one.text];
  return numbers.map((number) => ({
    number,
    row: rows.has(number) ? rows.get(number) : -1,
    text: texts === null ? '' : texts[number - first] ?? '',
  }));
}

function textLinesOf(model, text) {
  model.split ??= new Map();
  if (!model.split.has(text)) model.split.set(text, model.texts[text].split('\n'));
  return model.split.get(text);
}

const FUNCTION_ORDERS = {
  name: (one) => one.name.toLowerCase(),
  total: (one) => one.total,
  self: (one) => one.self,
  share: (one, metric) => one[metric],
  calls: (one) => one.calls,
};

// Return function numbers by a column. Equal ones stand by time, then as they were recorded.
function sortFunctions(model, indexes, { key, descending }, metric) {
  const value = FUNCTION_ORDERS[key];
  const sign = descending ? -1 : 1;
  return [...indexes].sort((a, b) => {
    const [one, other] = [model.functions[a], model.functions[b]];
    const [x, y] = [value(one, metric), value(other, metric)];
    return sign * ((x > y) - (x < y)) || other[metric] - one[metric] || a - b;
  });
}

// A part of the whole run, never more than 1: a function that calls itself is in its own time.
function shareOfRun(model, one, metric) {
  return model.whole > 0 ? Math.min(1, one[metric] / model.whole) : 0;
}

// Rows of a function by a metric, the hottest first; those without time are not among them.
function hottestRows(model, one, metric) {
  const values = model.lines[metric];
  const rows = [];
  for (let row = one.from; row < one.to; row++) if (values[row] > 0) rows.push(row);
  return rows.sort((a, b) => values[b] - values[a] || a - b);
}

function callersOf(model, one) {
  return model.calls.filter((call) => call.callee === one.index);
}

function calleesOf(model, one) {
  return model.calls.filter((call) => call.caller === one.index)
    .sort((a, b) => b.total - a.total || b.calls - a.calls || a.line - b.line);
}

// The columns that say something about a function; the others need not be there.
function usedColumns(model, one) {
  const used = { self: false, await: false };
  for (let row = one.from; row < one.to; row++) {
    const { total, self } = model.lines;
    if (total[row] - self[row] > 0.01 * total[row] + 1000) used.self = true;
    if (model.lines.await[row] > 0) used.await = true;
  }
  return used;
}

// Return {valid, functions, lines}: the functions whose name or place matches or that hold lines
// that match, and these as [function, line number], the hottest first.
function searchModel(model, pattern, metric) {
  const { test, valid } = compileSearch(pattern);
  const functions = new Set();
  const found = [];
  const matches = model.texts.map((_, text) => textLinesOf(model, text).map(test));
  for (const one of model.functions) {
    if (test(`${one.name} ${one.file}:${one.firstLine}`)) functions.add(one.index);
    if (one.text < 0) continue;
    const start = one.firstLine - model.textLines[one.text];
    let row = one.from;
    for (let k = 0; k < one.length; k++) {
      if (!matches[one.text][start + k]) continue;
      const number = one.firstLine + k;
      while (row < one.to && model.lines.number[row] < number) row++;
      const isRow = row < one.to && model.lines.number[row] === number;
      functions.add(one.index);
      found.push([isRow ? model.lines[metric][row] : 0, one.index, number]);
    }
  }
  found.sort((a, b) => b[0] - a[0] || a[1] - b[1] || a[2] - b[2]);
  return { pattern, valid, test, functions, lines: found.map(([, index, line]) => [index, line]) };
}
