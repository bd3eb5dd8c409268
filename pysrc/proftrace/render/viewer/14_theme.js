'use strict';
// Dark or light: what the reader chose in any report, or else what the system has.

const THEME_KEY = 'proftrace-theme';

// Storage may be closed to pages from files: then the system decides each time.
function storedTheme() {
  let stored = null;
  try {
    stored = window.localStorage.getItem(THEME_KEY);
  } catch { /* not allowed here */ }
  const isDark = window.matchMedia('(prefers-color-scheme: dark)').matches;
  return stored === 'dark' || stored === 'light' ? stored : (isDark ? 'dark' : 'light');
}

function rememberTheme(theme) {
  try {
    window.localStorage.setItem(THEME_KEY, theme);
  } catch { /* not allowed here */ }
}

function showTheme(theme, button) {
  document.documentElement.dataset.theme = theme;
  button.setAttribute('aria-pressed', String(theme === 'dark'));
}

function onSystemTheme(change) {
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', change);
}
