'use strict';
// The page: connects list, source and details with the controls, the keys and the address.

class Page extends ReportPage {
  constructor(model) {
    super(model);
    this.metric = 'total';
    this.unit = '';
    this.search = null;
    this.theme = 'light';
    this.list = new FunctionList(model, this.parts, (index) => this.go(index, 0));
    this.source = new SourceView(model, this.parts, (line) => this.go(this.list.open, line));
    this.parts.summary.hidden = true;
    this.parts.panes.hidden = false;
    this.parts.toolbar.hidden = false;
    this.applyTheme(storedTheme());
    this.listen();
    this.list.update();
    this.follow(true);
  }

  get home() { return this.parts.list; }

  get one() { return this.model.functions[this.list.open]; }

  listen() {
    super.listen();
    const { parts } = this;
    parts.back.addEventListener('click', () => this.showList());
    parts.self.addEventListener('click', () => this.toggleSelf());
    parts.unit.addEventListener('change', () => this.setUnit(parts.unit.value));
    document.addEventListener('click', (event) => this.onLink(event));
    window.addEventListener('popstate', () => this.follow(false));
    window.addEventListener('beforeprint', () => this.showEverything(true));
    window.addEventListener('afterprint', () => this.showEverything(false));
  }

  // ---- where the reader is --------------------------------------------------------------------

  // Open what the address names; without one the hottest function stands beside the list.
  follow(isStart) {
    const { index, line } = parseFragment(this.model, window.location.hash);
    if (index >= 0) this.open(index, line);
    else if (isStart) this.open(this.list.indexes[0], 0);
    this.showPane(index >= 0 ? 'function' : 'list');
  }

  // Each function is a step of the browser's history; lines of the same one are not.
  go(index, line) {
    const fragment = fragmentOf(this.model.functions[index], line);
    const here = parseFragment(this.model, window.location.hash);
    try {
      if (here.index === index) window.history.replaceState(null, '', fragment);
      else window.history.pushState(null, '', fragment);
    } catch { /* sandboxes may not touch the history */ }
    this.open(index, line);
    this.showPane('function');
  }

  open(index, line) {
    const { model, parts, list, source } = this;
    const one = model.functions[index];
    if (source.one !== one) {
      source.show(one);
      fillFunction(parts, model, one, this.unit);
    }
    list.show(index);
    this.showLine(line);
    source.select(line); // last: the details take room away
  }

  showLine(number) {
    const { model, parts, source } = this;
    const line = source.source[source.positionOf(number)];
    parts['line-details'].hidden = !line;
    if (line) fillLine(parts, model, source.one, line, this.unit);
    parts.live.textContent = sentenceOf(model, source.one, line, this.unit);
  }

  // Narrow windows have room for one of the two.
  showPane(name) {
    this.parts.panes.dataset.pane = name;
  }

  showList() {
    this.showPane('list');
    this.parts.list.focus();
  }

  onLink(event) {
    const link = event.target.closest('a[href^="#"]');
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.button) return;
    event.preventDefault();
    const { index, line } = parseFragment(this.model, link.getAttribute('href'));
    if (index >= 0) this.go(index, line);
  }

  // ---- how it is shown ------------------------------------------------------------------------

  toggleSelf() {
    this.metric = this.metric === 'total' ? 'self' : 'total';
    this.parts.self.setAttribute('aria-pressed', String(this.metric === 'self'));
    this.list.metric = this.metric;
    this.parts.functions.classList.toggle('by-self', this.metric === 'self');
    this.source.metric = this.metric;
    this.list.update();
    this.list.show(this.list.open);
    this.source.update();
  }

  setUnit(unit) {
    this.unit = unit;
    this.parts.unit.value = unit;
    this.list.unit = unit;
    this.source.unit = unit;
    fillFunction(this.parts, this.model, this.source.one, unit);
    this.list.rows.fill();
    this.source.rows.fill();
    this.showLine(this.source.selected);
  }

  applyTheme(theme) {
    this.theme = theme;
    showTheme(theme, this.parts.theme);
  }

  showEverything(wanted) {
    this.list.rows.showEverything(wanted);
    this.source.rows.showEverything(wanted);
  }

  // ---- search ---------------------------------------------------------------------------------

  runSearch(pattern) {
    const { parts, model, list, source } = this;
    this.search = pattern === '' ? null : searchModel(model, pattern, this.metric);
    this.matchIndex = -1;
    list.search = this.search;
    source.search = this.search;
    list.update();
    source.update();
    const isInvalid = this.search !== null && !this.search.valid;
    parts.search.setAttribute('aria-invalid', String(isInvalid));
    parts['search-result'].textContent = searchResultText(this.search);
  }

  // Go to the next line that matches, or to the next function when no line does.
  nextMatch(step) {
    if (this.search === null) return;
    const { lines } = this.search;
    const places = lines.length ? lines : this.list.indexes.map((index) => [index, 0]);
    if (!places.length) return;
    this.go(...places[this.stepMatch(step, places.length)]);
  }

  // ---- keys -----------------------------------------------------------------------------------

  onKey(event) {
    if (event.target !== this.parts.unit) super.onKey(event);
  }

  pageKey(event) {
    const { parts, source } = this;
    switch (event.key) {
      case '/': return () => { parts.search.focus(); parts.search.select(); };
      case '?': return () => parts.keys.showModal();
      case 's': case 'S': return () => this.toggleSelf();
      case 'd': case 'D': return () => this.toggleTheme();
      case 'u': case 'U':
        return () => this.setUnit(UNITS[(UNITS.indexOf(this.unit) + 1) % UNITS.length]);
      case 'n': case 'N': return () => this.walkToLine(source.hotNeighbour(1));
      case 'p': case 'P': return () => this.walkToLine(source.hotNeighbour(-1));
      default: return null;
    }
  }

  // Keys of the panes: buttons and links keep theirs.
  walkKey(event) {
    const { parts } = this;
    const inSource = parts.function.contains(event.target);
    if (event.target.closest('button, summary')) return null;
    switch (event.key) {
      case 'ArrowDown': case 'j': case 'J': return () => this.walk(inSource, 1);
      case 'ArrowUp': case 'k': case 'K': return () => this.walk(inSource, -1);
      case 'ArrowRight': return inSource ? null : () => this.enterSource();
      case 'Enter':
        return inSource || event.target.closest('a') ? null : () => this.enterSource();
      case 'ArrowLeft': return inSource && !parts.source.scrollLeft ? () => this.showList() : null;
      case 'Escape': return () => this.showList();
      default: return null;
    }
  }

  walk(inSource, step) {
    if (inSource) {
      this.walkToLine(this.source.neighbour(step));
      return;
    }
    const index = this.list.neighbour(step);
    if (index < 0) return;
    this.go(index, 0);
    if (this.parts.list.offsetWidth) this.parts.list.focus({ preventScroll: true });
  }

  walkToLine(line) {
    if (!line) return;
    this.go(this.list.open, line);
    this.parts.source.focus({ preventScroll: true });
  }

  enterSource() {
    this.showPane('function');
    this.parts.source.focus();
    if (!this.source.selected) this.walkToLine(this.source.hotNeighbour(1));
  }
}
