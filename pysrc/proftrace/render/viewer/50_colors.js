'use strict';
// Colours by whose code a frame is, with shades by file: the same for the same file in every
// report. Pure. Text on each of them has a contrast of at least 4.5 (tests/js/colors.test.js).

const ORIGINS = [
  { name: 'program', hue: 28, saturation: 85 },
  { name: 'packages', hue: 205, saturation: 70 },
  { name: 'standard library', hue: 140, saturation: 38 },
  { name: 'imports', hue: 275, saturation: 40 },
  { name: 'interpreter', hue: 220, saturation: 8 },
  { name: 'native code', hue: 330, saturation: 42 },
];
const SHADES = 6;
const THEMES = {
  light: {
    text: '#16181d', quiet: '#dde0e5', merged: '#b4b9c2', match: '#b5179e',
    vividness: 0.95, lightness: 74, step: 2.2,
  },
  dark: {
    text: '#f4f5f7', quiet: '#33373f', merged: '#5a606b', match: '#c2258a',
    vividness: 0.62, lightness: 26, step: 1.5,
  },
};

function hashText(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}

function shadeColor(origin, shade, themeName) {
  const { hue, saturation } = ORIGINS[origin];
  const { vividness, lightness, step } = THEMES[themeName];
  const turned = hue + (shade - (SHADES - 1) / 2) * 3;
  return `hsl(${turned} ${(saturation * vividness).toFixed(1)}% ${(lightness + shade * step).toFixed(1)}%)`;
}

// One colour for each place, in the order of the places.
function colorPlaces(places, themeName) {
  return places.map((place) => shadeColor(place.origin, hashText(place.file) % SHADES, themeName));
}
