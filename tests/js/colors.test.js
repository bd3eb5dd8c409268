'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { load } = require('./load.js');

const { ORIGINS, SHADES, THEMES, shadeColor, colorPlaces } = load(
  'ORIGINS', 'SHADES', 'THEMES', 'shadeColor', 'colorPlaces');

function rgbOf(color) {
  if (color.startsWith('#')) {
    return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
  }
  const [hue, saturation, lightness] = color.match(/[\d.]+/g).map(Number);
  const chroma = (saturation / 100) * Math.min(lightness / 100, 1 - lightness / 100);
  return [0, 8, 4].map((n) => {
    const k = (n + hue / 30) % 12;
    return lightness / 100 - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  });
}

function luminance(color) {
  const linear = rgbOf(color).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function contrast(one, other) {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

test('the contrast of black and white is 21', () => {
  assert.equal(Math.round(contrast('#000000', 'hsl(0 0% 100%)')), 21);
});

for (const name of Object.keys(THEMES)) {
  test(`text is readable on every colour of the ${name} theme`, () => {
    const theme = THEMES[name];
    for (let origin = 0; origin < ORIGINS.length; origin++) {
      for (let shade = 0; shade < SHADES; shade++) {
        const color = shadeColor(origin, shade, name);
        assert.ok(contrast(theme.text, color) >= 4.5, `${color} ${contrast(theme.text, color)}`);
      }
    }
    assert.ok(contrast(theme.text, theme.quiet) >= 4.5);
    assert.ok(contrast('#ffffff', theme.match) >= 4.5);
  });
}

test('a file has one colour, whatever else is in the report', () => {
  const place = { name: 'f', file: '/src/app.py', line: 3, origin: 0 };
  const other = { name: 'g', file: '/src/app.py', line: 9, origin: 0 };
  const [first] = colorPlaces([place], 'light');
  assert.deepEqual(colorPlaces([other, place], 'light'), [first, first]);
});
