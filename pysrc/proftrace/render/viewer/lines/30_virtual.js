'use strict';
// A table of any length that holds only the rows in sight: the others are two empty rows above and
// below, as high as all of them.

const MARGIN_ROWS = 12;

class VirtualRows {
  // `makeRow(index)` returns the <tr> of a row; all rows are `rowHeight` pixels high.
  constructor(scroller, table, rowHeight, makeRow) {
    Object.assign(this, { scroller, table, rowHeight, makeRow });
    this.body = table.tBodies[0];
    this.count = 0;
    this.from = 0;
    this.to = 0;
    this.pending = false;
    this.everything = false;
    scroller.addEventListener('scroll', () => this.request(), { passive: true });
    new ResizeObserver(() => this.request()).observe(scroller);
  }

  setCount(count) {
    this.count = count;
    this.table.setAttribute('aria-rowcount', String(count + 1));
    this.fill();
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      const [from, to] = this.rangeInSight();
      if (from !== this.from || to !== this.to) this.fill();
    });
  }

  get headHeight() { return this.table.tHead.offsetHeight; }

  rangeInSight() {
    if (this.everything) return [0, this.count];
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.floor(scrollTop / this.rowHeight) - MARGIN_ROWS;
    const last = Math.ceil((scrollTop + clientHeight) / this.rowHeight) + MARGIN_ROWS;
    return [Math.max(0, Math.min(first, this.count)), Math.max(0, Math.min(last, this.count))];
  }

  fill() {
    [this.from, this.to] = this.rangeInSight();
    const rows = [];
    for (let index = this.from; index < this.to; index++) {
      const row = this.makeRow(index);
      row.setAttribute('aria-rowindex', String(index + 2));
      rows.push(row);
    }
    this.body.replaceChildren(
      ...this.gap(this.from), ...rows, ...this.gap(this.count - this.to),
    );
  }

  gap(count) {
    if (count === 0) return [];
    const row = element('tr', undefined, 'gap');
    row.setAttribute('aria-hidden', 'true');
    row.style.height = `${count * this.rowHeight}px`;
    return [row];
  }

  // Let a row be in sight: not below the head, not at the very edge; in the middle if it was far.
  reveal(index) {
    const { scroller, rowHeight, headHeight } = this;
    const top = index * rowHeight;
    const room = scroller.clientHeight - headHeight;
    const shown = top - scroller.scrollTop;
    if (shown >= 0 && shown + rowHeight <= room) return;
    const isNear = shown > -3 * rowHeight && shown < room + 3 * rowHeight;
    const aim = isNear ? (shown < 0 ? rowHeight : room - 2 * rowHeight) : room / 3;
    scroller.scrollTop = Math.max(0, top - aim);
    this.fill();
  }

  // For paper there is no scrolling.
  showEverything(wanted) {
    this.everything = wanted;
    this.fill();
  }
}
