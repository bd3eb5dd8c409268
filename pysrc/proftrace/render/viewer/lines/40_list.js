'use strict';
// The list of functions: sorted, filtered, one of them open.

const FUNCTION_ROW_PX = 44;

class FunctionList {
  constructor(model, parts, onOpen) {
    Object.assign(this, { model, parts, onOpen });
    this.metric = 'total';
    this.unit = '';
    this.open = -1;
    this.order = { key: 'share', descending: true };
    this.search = null;
    this.indexes = [];
    const { list, functions } = parts;
    this.rows = new VirtualRows(list, functions, FUNCTION_ROW_PX, (row) => this.makeRow(row));
    for (const head of functions.tHead.rows[0].cells) {
      head.firstElementChild.addEventListener('click', () => this.sortBy(head.dataset.key));
    }
  }

  // The first click on numbers brings the largest up, on names the first of the alphabet.
  sortBy(key) {
    const again = this.order.key === key;
    this.order = { key, descending: again ? !this.order.descending : key !== 'name' };
    this.update();
  }

  update() {
    const { model, search } = this;
    const all = model.functions.map((one) => one.index);
    const kept = search === null ? all : all.filter((index) => search.functions.has(index));
    this.indexes = sortFunctions(model, kept, this.order, this.metric);
    for (const head of this.parts.functions.tHead.rows[0].cells) {
      const isOrder = head.dataset.key === this.order.key;
      const direction = this.order.descending ? 'descending' : 'ascending';
      head.setAttribute('aria-sort', isOrder ? direction : 'none');
    }
    this.parts['no-match'].hidden = this.indexes.length > 0 || search === null;
    this.rows.setCount(this.indexes.length);
  }

  show(index) {
    this.open = index;
    const row = this.indexes.indexOf(index);
    if (row >= 0) this.rows.reveal(row);
    this.rows.fill();
  }

  // The function `step` rows below the open one, -1 when there is none.
  neighbour(step) {
    const row = this.indexes.indexOf(this.open);
    const next = row < 0 ? 0 : row + step;
    return this.indexes[next] ?? -1;
  }

  makeRow(position) {
    const { model, metric, unit } = this;
    const one = model.functions[this.indexes[position]];
    const row = element('tr', undefined, one.total || one.calls ? '' : 'idle');
    if (one.index === this.open) row.setAttribute('aria-current', 'true');
    row.dataset.index = String(one.index);
    const name = element('td', undefined, 'function');
    const link = element('a', undefined, 'name');
    link.href = fragmentOf(one, 0);
    link.title = shorten(one.name);
    link.append(element('bdi', shorten(one.name)));
    const place = element('span', undefined, 'location');
    place.title = shorten(`${one.file}:${one.firstLine}`);
    place.append(element('bdi', shorten(`${baseName(one.file)}:${one.firstLine}`)));
    name.append(link, place);
    const hasRun = one.total > 0 || one.calls > 0;
    const time = (value) => (hasRun ? formatTimeIn(value, unit) : '');
    row.append(
      name,
      element('td', hasRun ? time(one.total) : 'never ran', 'number total'),
      element('td', time(one.self), 'number self'),
      hasRun ? this.shareCell(one, shareOfRun(model, one, metric)) : element('td'),
      element('td', hasRun ? formatCount(one.calls) : '', 'number calls'),
    );
    row.addEventListener('click', (event) => {
      event.preventDefault();
      this.onOpen(one.index);
    });
    return row;
  }

  shareCell(one, share) {
    const cell = element('td', undefined, 'share');
    const error = one[`${this.metric}Error`];
    cell.append(
      barElement(barOf(one[this.metric], error, this.model.whole), heatOf(share)),
      element('span', formatShare(share, 1), 'percent'),
    );
    return cell;
  }
}

// A bar with the whisker of its error; both are decoration, the numbers stand beside them.
function barElement([end, low, high], heat) {
  const track = element('span', undefined, `bar ${heat}`);
  track.setAttribute('aria-hidden', 'true');
  const fill = element('span', undefined, 'fill');
  fill.style.width = `${(100 * end).toFixed(2)}%`;
  track.append(fill);
  if (high > low) {
    const whisker = element('span', undefined, 'whisker');
    whisker.style.left = `${(100 * low).toFixed(2)}%`;
    whisker.style.width = `${(100 * (high - low)).toFixed(2)}%`;
    track.append(whisker);
  }
  return track;
}
