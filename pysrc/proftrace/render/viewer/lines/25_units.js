'use strict';
// Times in the unit that the reader chose, and the little arithmetic that numbers need. Pure.

const UNITS = ['', 'ns', 'us', 'ms', 's'];
const SCALES = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

// "" chooses the unit by size, as everywhere; others keep it, so that columns can be compared.
function formatTimeIn(value, unit) {
  if (!unit) return formatValue(value, 'nanoseconds');
  const number = value / SCALES[unit];
  const decimals = unit === 'ns' ? 0 : number < 1 ? 4 : number < 100 ? 2 : 1;
  const [whole, part] = number.toFixed(decimals).split('.');
  return `${formatCount(whole)}${part ? `.${part}` : ''} ${unit}`;
}

function withError(time, error, unit) {
  const text = formatTimeIn(time, unit);
  return error ? `${text} ± ${formatTimeIn(error, unit)}` : text;
}

// Round to the nearest whole number, halves to the even one, as Python does.
function roundEven(number) {
  return Number(fixed(number, 0));
}

function perHit(total, hits) {
  return hits ? roundEven(total / hits) : 0;
}

// The steps at which a line stands out, as in the terminal.
function heatOf(share) {
  if (share > 0.6) return 'hot';
  if (share > 0.2) return 'warm';
  return share > 0.05 ? 'mild' : 'cool';
}

const LEAST_WHISKER = 0.01; // of the whole: a smaller one could not be told from the end of the bar

// Where bar and whisker of a value stand, in parts of the whole: [end, whisker from, whisker to].
// No whisker is one without length.
function barOf(value, error, whole) {
  if (!(whole > 0)) return [0, 0, 0];
  const part = (number) => Math.min(1, Math.max(0, number / whole));
  const end = part(value);
  return error < LEAST_WHISKER * whole
    ? [end, end, end]
    : [end, part(value - error), part(value + error)];
}
