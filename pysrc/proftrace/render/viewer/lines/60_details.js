'use strict';
// The words around the source: what is known of a function and of the selected line.

const LOOP_NOTE = 'A loop on one line is one hit; its rounds are not counted.';

function factsOf(model, one, unit) {
  const share = (metric) => `${formatShare(shareOfRun(model, one, metric), 1)} % of all`;
  const facts = [
    ['time', `${withError(one.total, one.totalError, unit)} · ${share('total')}`],
    ['self', `${withError(one.self, one.selfError, unit)} · ${share('self')}`],
    ['calls', formatCount(one.calls)],
  ];
  if (one.calls) facts.push(['per call', formatTimeIn(perHit(one.total, one.calls), unit)]);
  if (one.yields) facts.push(['suspensions', formatCount(one.yields)]);
  return facts;
}

// How a function was timed, in the words of `lprof show --stats`.
function regimeText(one) {
  const names = [];
  if (one.regimes & 1) names.push('by the clock');
  if (one.regimes & 2) names.push('by samples');
  if (!names.length) return one.calls ? 'not timed' : 'never ran';
  let text = `timed ${names.join(' and ')}`;
  if (one.samples) text += `: ${formatCount(one.samples)} samples`;
  if (one.discarded) {
    text += `, ${formatCount(one.discarded)} more of the measuring itself left out`;
  }
  return one.reasons ? `${text} (${one.reasons})` : text;
}

// What is known of a line, as [name, text] pairs.
function lineFactsOf(model, one, row, unit) {
  const { lines } = model;
  const share = (value) => formatPercent(value, one.total);
  const facts = [
    ['hits', formatCount(lines.hits[row])],
    ['time', `${withError(lines.total[row], lines.totalError[row], unit)} · ${share(lines.total[row])}`],
    ['self', `${withError(lines.self[row], lines.selfError[row], unit)} · ${share(lines.self[row])}`],
  ];
  if (lines.hits[row]) {
    facts.push(['per hit', formatTimeIn(perHit(lines.total[row], lines.hits[row]), unit)]);
  }
  if (lines.await[row]) facts.push(['await', formatTimeIn(lines.await[row], unit)]);
  if (lines.nBuckets[row]) {
    facts.push(['shortest', formatTimeIn(lines.shortest[row], unit)]);
    facts.push(['longest', formatTimeIn(lines.longest[row], unit)]);
  }
  if (lines.samples[row]) facts.push(['samples', formatCount(lines.samples[row])]);
  return facts;
}

// The log2 histogram of a line as bars, from its shortest to its longest hits; null without one.
function histogramElement(model, row, unit) {
  const from = model.lines.bucketsAt[row];
  const counts = Array.from(model.lines.buckets.slice(from, from + model.lines.nBuckets[row]));
  const first = counts.findIndex((count) => count > 0);
  if (first < 0) return null;
  const most = Math.max(...counts);
  const figure = element('figure', undefined, 'histogram');
  figure.append(element('figcaption', 'hits by duration'));
  const list = element('ol');
  counts.slice(first).forEach((count, k) => {
    const low = first + k ? 2 ** (first + k) : 0;
    const item = element('li');
    const range = `${formatTimeIn(low, unit)} to ${formatTimeIn(2 ** (first + k + 1), unit)}`;
    item.title = `${range}: ${formatCount(count)}`;
    const bar = element('span', undefined, 'column');
    bar.style.height = `${count ? Math.max(4, (100 * count) / most).toFixed(1) : 0}%`;
    item.append(bar, element('span', item.title, 'spoken'));
    list.append(item);
  });
  const ends = element('p');
  ends.append(
    element('span', formatTimeIn(first ? 2 ** first : 0, unit)),
    element('span', formatTimeIn(2 ** counts.length, unit)),
  );
  figure.append(list, ends);
  return figure;
}

// A list of calls with links: to the function, or to the line that calls.
function callList(title, calls, isOpen, describe) {
  const group = element('details');
  group.open = isOpen;
  group.append(element('summary', `${title} (${formatCount(calls.length)})`));
  const table = element('table');
  const body = element('tbody');
  body.append(...calls.map(describe));
  table.append(body);
  group.append(table);
  return group;
}

// A call that only samples saw has no count; where not all were counted it is about right.
function callsText({ calls, estimated }) {
  return calls ? `${estimated ? '≈ ' : ''}${formatCount(calls)} ×` : '- ×';
}

function callRow(call, unit, target) {
  const row = element('tr');
  row.append(
    element('td', callsText(call), 'number'),
    element('td', formatTimeIn(call.total, unit), 'number'),
  );
  const cell = element('td');
  cell.append(target);
  row.append(cell);
  return row;
}

// The function at the other end of a call, as a link to it, or to the line that calls.
function linkTo(model, index, line) {
  if (index < 0) return element('span', 'code that is not profiled');
  const one = model.functions[index];
  const link = element('a');
  link.href = fragmentOf(one, line);
  link.append(element('bdi', shorten(one.name)));
  const place = element('bdi', shorten(`${baseName(one.file)}:${line || one.firstLine}`), 'location');
  const both = element('span');
  both.append(link, ' ', place);
  return both;
}

function callerRow(model, call, unit) {
  return callRow(call, unit, linkTo(model, call.caller, call.line));
}

// Where a call comes from is a line of the open function: it is named when there are several.
function calleeRow(model, one, call, unit, withLine) {
  const target = linkTo(model, call.callee, 0);
  if (withLine && call.line) {
    const link = element('a', `line ${call.line}`);
    link.href = fragmentOf(one, call.line);
    target.append(', from ', link);
  }
  return callRow(call, unit, target);
}

// Callers and callees open and close together, and stay so for the next function.
function keepTogether(box, lists) {
  for (const list of lists) {
    list.addEventListener('toggle', () => {
      box.dataset.open = String(list.open);
      for (const other of lists) other.open = list.open;
    });
  }
}

function fillFunction(parts, model, one, unit) {
  parts['function-name'].textContent = shorten(one.name);
  parts['function-place'].textContent = shorten(`${one.file}:${one.firstLine}`);
  fillPairs(parts['function-facts'], factsOf(model, one, unit));
  const missing = one.text < 0 && one.to > one.from ? '; its text is not in this page' : '';
  parts['function-regime'].textContent = regimeText(one) + missing;
  const callers = callersOf(model, one);
  const callees = calleesOf(model, one);
  const lists = [];
  const isOpen = parts.calls.dataset.open === 'true';
  if (callers.length) {
    lists.push(callList('called by', callers, isOpen, (call) => callerRow(model, call, unit)));
  }
  if (callees.length) {
    lists.push(callList('calls', callees, isOpen,
      (call) => calleeRow(model, one, call, unit, true)));
  }
  parts.calls.replaceChildren(...lists);
  keepTogether(parts.calls, lists);
}

function fillLine(parts, model, one, { number, row }, unit) {
  const box = parts['line-details'];
  const title = element('p', `line ${number}`, 'title');
  if (row < 0) {
    box.replaceChildren(title, element('p', 'never executed, or no code of its own'));
    return;
  }
  const list = element('dl');
  fillPairs(list, lineFactsOf(model, one, row, unit));
  const numbers = element('div');
  numbers.append(title, list);
  if (model.lines.loop[row]) numbers.append(element('p', LOOP_NOTE));
  const rest = [histogramElement(model, row, unit)];
  const callees = calleesOf(model, one).filter((call) => call.line === number);
  if (callees.length) {
    rest.push(callList('calls from here', callees, true,
      (call) => calleeRow(model, one, call, unit, false)));
  }
  box.replaceChildren(numbers, ...rest.filter(Boolean));
}

// One sentence for the live region.
function sentenceOf(model, one, line, unit) {
  if (!line) return `${shorten(one.name)}, ${formatTimeIn(one.total, unit)}, ${formatShare(shareOfRun(model, one, 'total'), 1)} percent of all`;
  if (line.row < 0) return `line ${line.number}, never executed`;
  const { hits, total } = model.lines;
  return `line ${line.number}, ${formatCount(hits[line.row])} hits, ${formatTimeIn(total[line.row], unit)}, ${formatShare(total[line.row], one.total)} percent`;
}

function searchResultText(search) {
  if (search === null) return '';
  const number = (count, noun) => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
  const found = search.functions.size === 0
    ? 'no match'
    : `${number(search.functions.size, 'function')}, ${number(search.lines.length, 'line')}`;
  return search.valid ? found : `not a regular expression; as text: ${found}`;
}
