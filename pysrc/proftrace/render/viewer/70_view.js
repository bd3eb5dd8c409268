'use strict';
// What is seen: zoom, selection, direction, theme and search, and the drawing of it. It knows the
// canvas and its scroller; keys, mouse and panels are told through `onChange`.

const ZOOM_MS = 150;

class View {
  constructor(model, { canvas, scroller, spacer }, onChange) {
    Object.assign(this, { model, canvas, scroller, spacer, onChange });
    this.context = canvas.getContext('2d');
    this.zoom = 0;
    this.range = rangeOf(model, 0);
    this.animation = null;
    this.selected = 0;
    this.hovered = -1;
    this.flipped = false;
    this.search = null;
    this.theme = 'light';
    this.rects = [];
    this.pending = false;
    this.lastRow = deepestBelow(model, 0);
    scroller.addEventListener('scroll', () => this.requestDraw(), { passive: true });
    canvas.addEventListener('focus', () => this.requestDraw());
    canvas.addEventListener('blur', () => this.requestDraw());
    new ResizeObserver(() => this.requestDraw()).observe(scroller);
  }

  get width() { return this.scroller.clientWidth; }

  get height() { return this.scroller.clientHeight; }

  get contentHeight() { return Math.max((this.lastRow + 1) * ROW_HEIGHT, this.height); }

  // The top of a row on the canvas, in pixels.
  yOfRow(row) {
    const top = this.flipped ? this.contentHeight - (row + 1) * ROW_HEIGHT : row * ROW_HEIGHT;
    return top - this.scroller.scrollTop;
  }

  rowAt(y) {
    const top = y + this.scroller.scrollTop;
    return Math.floor((this.flipped ? this.contentHeight - 1 - top : top) / ROW_HEIGHT);
  }

  setTheme(theme) {
    this.theme = theme;
    this.colors = colorPlaces(this.model.places, theme);
    this.requestDraw();
  }

  setFlipped(flipped) {
    this.flipped = flipped;
    this.scrollToRow(this.model.depth[this.zoom]);
    this.requestDraw();
  }

  setSearch(search) {
    this.search = search;
    this.requestDraw();
  }

  // Let a node fill the width; its callers stay above it as quiet rows of full width.
  zoomTo(node) {
    const before = this.range;
    this.zoom = node;
    this.selected = node;
    this.hovered = -1;
    this.lastRow = deepestBelow(this.model, node);
    this.range = rangeOf(this.model, node);
    this.fitSpacer();
    this.scrollToRow(this.model.depth[node]);
    this.animateFrom(before);
    this.onChange('zoom');
  }

  animateFrom(before) {
    const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.animation = still ? null : { before, since: performance.now() };
    this.requestDraw();
  }

  select(node) {
    this.selected = node;
    const y = this.yOfRow(this.model.depth[node]);
    if (y < 0 || y + ROW_HEIGHT > this.height) this.scrollToRow(this.model.depth[node]);
    this.requestDraw();
    this.onChange('select');
  }

  hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    this.requestDraw();
  }

  fitSpacer() {
    this.spacer.style.height = `${(this.lastRow + 1) * ROW_HEIGHT}px`;
  }

  // Scroll so that a row stands near the side that the graph grows from.
  scrollToRow(row) {
    this.fitSpacer();
    const lead = 2 * ROW_HEIGHT;
    const top = this.flipped
      ? this.contentHeight - (row + 1) * ROW_HEIGHT - this.height + ROW_HEIGHT + lead
      : row * ROW_HEIGHT - lead;
    this.scroller.scrollTop = Math.max(top, 0);
  }

  requestDraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame((now) => {
      this.pending = false;
      this.draw(now);
    });
  }

  // The range between the one before and the one to come, while a zoom is under way.
  rangeNow(now) {
    if (this.animation === null) return this.range;
    const { before, since } = this.animation;
    const passed = Math.min(Math.max((now - since) / ZOOM_MS, 0), 1);
    if (passed === 1) {
      this.animation = null;
      return this.range;
    }
    const part = 1 - (1 - passed) ** 3;
    return {
      from: before.from + (this.range.from - before.from) * part,
      to: before.to + (this.range.to - before.to) * part,
    };
  }

  draw(now) {
    const { width, height, canvas } = this;
    if (width === 0 || height === 0) return;
    this.fitCanvas(canvas, width, height);
    const rows = [this.rowAt(0), this.rowAt(height - 1)];
    const range = this.rangeNow(now);
    const last = Math.min(Math.max(...rows), this.lastRow);
    this.rects = layoutRows(this.model, range, width, Math.min(...rows), last);
    paintScene(this.context, this.sceneOf(width, height));
    if (this.animation !== null) this.requestDraw();
  }

  fitCanvas(canvas, width, height) {
    const pixelRatio = window.devicePixelRatio || 1;
    const pixels = [Math.round(width * pixelRatio), Math.round(height * pixelRatio)];
    if (canvas.width === pixels[0] && canvas.height === pixels[1]) return;
    [canvas.width, canvas.height] = pixels;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }

  sceneOf(width, height) {
    const { model, rects, theme, colors, search, selected, hovered } = this;
    return {
      model, rects, theme, colors, search, selected, hovered, width, height,
      pixelRatio: window.devicePixelRatio || 1,
      zoomRow: model.depth[this.zoom],
      // At rest the base of the view is selected: a frame around it would say nothing.
      showsSelection: selected !== this.zoom || document.activeElement === this.canvas,
      yOfRow: (row) => this.yOfRow(row),
    };
  }
}
