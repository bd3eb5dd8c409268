'use strict';
// Numbers as text, by the same rules as units.py (tests/data/units.json holds both to them).

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const TIME_UNITS = [[1e3, 'us'], [1e6, 'ms'], [1e9, 's']];

// toFixed, but an exact half goes to the even digit, as in Python.
function fixed(number, decimals) {
  const isHalf = (number * 2 ** (decimals + 1)) % 2 === 1;
  if (!isHalf) return number.toFixed(decimals);
  const below = Math.floor(number * 10 ** decimals);
  return ((below + (below % 2)) / 10 ** decimals).toFixed(decimals);
}

function formatCount(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

function formatBytes(size) {
  let power = 0;
  while (power + 1 < BYTE_UNITS.length && size >= 1024 ** (power + 1)) power++;
  if (power === 0) return `${size} B`;
  let text = fixed(size / 1024 ** power, 1);
  if (text === '1024.0' && power + 1 < BYTE_UNITS.length) {
    text = '1.0';
    power++;
  }
  return `${text} ${BYTE_UNITS[power]}`;
}

function formatTime(size) {
  if (size < 1000) return `${size} ns`;
  for (const [scale, unit] of TIME_UNITS) {
    const number = size / scale;
    for (const [decimals, below] of [[2, 9.995], [1, 99.95], [0, 999.5]]) {
      if (number < below) return `${fixed(number, decimals)} ${unit}`;
    }
  }
  return `${formatCount(Number(fixed(size / 1e9, 0)))} s`;
}

function formatValue(value, unit) {
  const sign = value < 0 ? '-' : '';
  const size = Math.abs(value);
  if (unit === 'bytes') return sign + formatBytes(size);
  if (unit === 'nanoseconds') return sign + formatTime(size);
  return sign + formatCount(size);
}

function formatShare(part, whole) {
  return whole > 0 ? fixed((100 * part) / whole, 1) : '-';
}

function formatPercent(part, whole) {
  return whole > 0 ? `${formatShare(part, whole)} %` : '-';
}
