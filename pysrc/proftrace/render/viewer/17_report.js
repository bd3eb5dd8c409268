'use strict';
// What all pages do with keys, search and theme. Pages have `theme`, `home` (the part that keys
// walk in), applyTheme, runSearch, nextMatch, pageKey and walkKey of their own.

class ReportPage {
  constructor(model) {
    this.model = model;
    this.parts = {};
    for (const part of document.querySelectorAll('[id]')) this.parts[part.id] = part;
    this.matchIndex = -1;
  }

  listen() {
    const { parts } = this;
    parts.theme.addEventListener('click', () => this.toggleTheme());
    parts.help.addEventListener('click', () => parts.keys.showModal());
    parts.search.addEventListener('input', () => this.runSearch(parts.search.value));
    document.addEventListener('keydown', (event) => this.onKey(event));
    onSystemTheme(() => this.applyTheme(storedTheme()));
  }

  toggleTheme() {
    const theme = this.theme === 'dark' ? 'light' : 'dark';
    rememberTheme(theme);
    this.applyTheme(theme);
  }

  // Walk the matches in a circle: from none the first one, or the last one backwards.
  stepMatch(step, count) {
    this.matchIndex = this.matchIndex < 0 && step < 0
      ? count - 1
      : (this.matchIndex + step + count) % count;
    return this.matchIndex;
  }

  clearSearch() {
    this.parts.search.value = '';
    this.runSearch('');
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.parts.keys.open) return;
    const inSearch = event.target === this.parts.search;
    const action = inSearch ? this.searchKey(event) : this.pageKey(event) || this.walkKey(event);
    if (!action) return;
    event.preventDefault();
    action();
  }

  searchKey(event) {
    if (event.key === 'Enter') return () => this.nextMatch(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape') {
      return () => {
        this.clearSearch();
        this.home.focus();
      };
    }
    return null;
  }
}
