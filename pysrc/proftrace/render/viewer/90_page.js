'use strict';
// The page: connects the view with the controls, the keys and the mouse.

class Page extends ReportPage {
  constructor(model, countNoun) {
    super(model);
    this.countNoun = countNoun;
    this.view = new View(model, this.parts, (what) => this.changed(what));
    this.history = new ZoomHistory(model, (node) => this.view.zoomTo(node));
    this.showTable(false); // unless there is nothing else to show
    this.applyTheme(storedTheme());
    this.listen();
    this.view.zoomTo(this.history.nodeOfPage());
    this.view.animation = null;
  }

  get theme() { return this.view.theme; }

  get home() { return this.parts.canvas; }

  listen() {
    super.listen();
    const { parts } = this;
    parts.back.addEventListener('click', () => this.back());
    parts.reset.addEventListener('click', () => this.reset());
    parts.flip.addEventListener('click', () => this.flip());
    parts.table.addEventListener('click', () => this.showTable(parts.summary.hidden));
    parts.copy.addEventListener('click', () => this.copyStack());
    parts.canvas.addEventListener('mousemove', (event) => this.onMove(event));
    parts.canvas.addEventListener('mouseleave', () => this.leave());
    parts.canvas.addEventListener('click', (event) => this.onClick(event));
    parts.scroller.addEventListener('scroll', () => this.leave(), { passive: true });
  }

  changed(what) {
    const { parts, view, model } = this;
    fillFacts(parts['details-text'], model, view.selected, view.zoom, this.countNoun);
    parts.live.textContent = sentenceOf(model, view.selected);
    parts.reset.disabled = view.zoom === 0;
    parts.back.disabled = view.zoom === 0 && this.history.depth === 0 && !this.history.own.length;
    if (what === 'zoom') this.leave();
  }

  zoomTo(node) {
    if (this.model.total[0][node] > 0) this.history.go(node, this.view.zoom);
  }

  back() {
    this.history.back(this.view.zoom);
  }

  reset() {
    this.zoomTo(0);
  }

  flip() {
    this.view.setFlipped(!this.view.flipped);
    this.parts.flip.setAttribute('aria-pressed', String(this.view.flipped));
  }

  showTable(wanted) {
    const shown = wanted || this.model.total[0][0] === 0;
    this.parts.summary.hidden = !shown;
    this.parts.graph.hidden = shown;
    this.parts.table.setAttribute('aria-pressed', String(shown));
    this.leave();
    if (!shown) this.view.requestDraw();
  }

  applyTheme(theme) {
    showTheme(theme, this.parts.theme);
    fillLegend(this.parts.legend, this.model, theme);
    this.view.setTheme(theme);
  }

  runSearch(pattern) {
    const { parts, view, model } = this;
    const search = pattern === '' ? null : searchModel(model, pattern);
    this.matchIndex = -1;
    view.setSearch(search);
    parts.search.setAttribute('aria-invalid', String(search !== null && !search.valid));
    parts['search-result'].textContent = searchResultText(model, search);
  }

  // Select the next match, the largest first, inside what is shown or the whole tree.
  nextMatch(step) {
    const { search } = this.view;
    if (search === null || search.outermost.length === 0) return;
    const node = search.outermost[this.stepMatch(step, search.outermost.length)];
    if (!isWithin(this.model, node, this.view.zoom)) this.zoomTo(0);
    this.view.select(node);
  }

  copyStack() {
    const said = (text) => { this.parts.live.textContent = text; };
    navigator.clipboard.writeText(stackText(this.model, this.view.selected))
      .then(() => said('Stack copied'), () => said('The browser did not allow copying'));
  }

  pointAt(event) {
    const box = this.parts.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const row = this.view.rowAt(event.clientY - box.top);
    const { view } = this;
    if (row > view.lastRow) return { rect: null, node: -1 };
    return {
      rect: rectAt(view.rects, row, x),
      node: nodeAt(this.model, view.range, view.width, row, x),
    };
  }

  onMove(event) {
    const { parts, model, view } = this;
    const { rect, node } = this.pointAt(event);
    if (rect === null) {
      this.leave();
      return;
    }
    if (rect.count > 1) fillMerged(parts.tooltip, model, rect, this.countNoun);
    else fillFacts(parts.tooltip, model, rect.node, view.zoom, this.countNoun);
    placeTooltip(parts.tooltip, event.clientX, event.clientY);
    view.hover(rect.count > 1 ? node : rect.node);
    parts.canvas.style.cursor = 'pointer';
  }

  leave() {
    this.parts.tooltip.hidden = true;
    this.parts.canvas.style.cursor = '';
    this.view.hover(-1);
  }

  onClick(event) {
    const { rect, node } = this.pointAt(event);
    if (rect === null) return;
    const target = rect.count > 1 && node >= 0 ? node : rect.node;
    if (target === this.view.zoom) this.view.select(target);
    else this.zoomTo(target);
  }

  pageKey(event) {
    const { parts } = this;
    switch (event.key) {
      case '/': return () => { this.showTable(false); parts.search.focus(); parts.search.select(); };
      case '?': return () => parts.keys.showModal();
      case 'f': case 'F': return () => this.flip();
      case 't': case 'T': return () => parts.table.click();
      case 'd': case 'D': return () => this.toggleTheme();
      case 'Backspace': return () => this.back();
      case '0': return () => this.reset();
      case 'Escape': return () => { this.clearSearch(); this.reset(); };
      default: return null;
    }
  }

  // Keys of the graph: only there, so that buttons and the table keep theirs.
  walkKey(event) {
    const { parts, view } = this;
    const isHere = event.target === parts.canvas || event.target === document.body;
    if (!isHere || parts.graph.hidden) return null;
    const [up, down] = view.flipped ? ['ArrowDown', 'ArrowUp'] : ['ArrowUp', 'ArrowDown'];
    switch (event.key) {
      case up: return () => this.walkTo(this.model.parent[view.selected]);
      case down: return () => this.walkTo(firstChildOf(this.model, view.selected));
      case 'ArrowLeft': return () => this.walkTo(siblingOf(this.model, view.selected, -1));
      case 'ArrowRight': return () => this.walkTo(siblingOf(this.model, view.selected, 1));
      case 'Home': return () => this.walkTo(view.zoom);
      case 'Enter': return () => this.zoomTo(view.selected);
      default: return null;
    }
  }

  // Frames without width cannot be seen, so they are not walked to; callers of the view can.
  walkTo(node) {
    if (this.model.total[0][node] > 0) this.view.select(node);
  }
}
