'use strict';
// The source of one function, line by line, with what each line cost.

const SOURCE_ROW_PX = 20;

class SourceView {
  constructor(model, parts, onSelect) {
    Object.assign(this, { model, parts, onSelect });
    this.metric = 'total';
    this.unit = '';
    this.one = null;
    this.source = [];
    this.selected = 0;
    this.search = null;
    const { source, lines } = parts;
    this.rows = new VirtualRows(source, lines, SOURCE_ROW_PX, (index) => this.makeRow(index));
  }

  show(one) {
    this.one = one;
    this.source = sourceOf(this.model, one);
    this.selected = 0;
    const used = usedColumns(this.model, one);
    this.parts.lines.classList.toggle('has-self', used.self);
    this.parts.lines.classList.toggle('has-await', used.await);
    const longest = this.source.reduce((most, { text }) => Math.max(most, text.length), 0);
    this.parts.lines.style.setProperty('--code-width', `${Math.min(longest + 2, 100000)}ch`);
    this.parts.source.scrollTop = 0;
    this.parts.source.scrollLeft = 0;
    this.rows.setCount(this.source.length);
  }

  update() {
    const title = this.metric === 'self' ? '% self' : '% of time';
    this.parts['heat-title'].textContent = title;
    this.rows.fill();
  }

  positionOf(number) {
    return this.source.findIndex((line) => line.number === number);
  }

  select(number) {
    const position = this.positionOf(number);
    this.selected = position < 0 ? 0 : number;
    if (position >= 0) this.rows.reveal(position);
    this.rows.fill();
  }

  // The line `step` lines below the selected one, 0 when there is none.
  neighbour(step) {
    const position = this.selected ? this.positionOf(this.selected) + step : 0;
    return this.source[position]?.number ?? 0;
  }

  // The next line by its time: after the selected one, or the hottest.
  hotNeighbour(step) {
    const rows = hottestRows(this.model, this.one, this.metric);
    const numbers = rows.map((row) => this.model.lines.number[row]);
    const at = numbers.indexOf(this.selected);
    return numbers[at < 0 ? (step > 0 ? 0 : numbers.length - 1) : at + step] ?? 0;
  }

  makeRow(index) {
    const { number, row, text } = this.source[index];
    const isMatch = this.search !== null && this.search.test(text);
    const classes = [row < 0 ? 'cold' : '', isMatch ? 'match' : ''];
    const made = element('tr', undefined, classes.join(' ').trim());
    made.dataset.line = String(number);
    if (number === this.selected) made.setAttribute('aria-current', 'true');
    const label = element('td', undefined, 'line');
    const link = element('a', String(number));
    link.href = fragmentOf(this.one, number);
    label.append(link);
    const code = element('td', undefined, 'code');
    code.append(element('bdi', text));
    made.append(label, ...this.valueCells(row), code);
    made.addEventListener('click', (event) => {
      if (event.target === link) event.preventDefault();
      if (String(window.getSelection()) === '') this.onSelect(number);
    });
    return made;
  }

  valueCells(row) {
    const { unit } = this;
    const { hits, total, self } = this.model.lines;
    const suspended = this.model.lines.await;
    const time = (value) => (row < 0 ? '' : formatTimeIn(value, unit));
    const each = row >= 0 && hits[row] ? formatTimeIn(perHit(total[row], hits[row]), unit) : '';
    return [
      element('td', row < 0 || !hits[row] ? '' : formatCount(hits[row]), 'number hits'),
      element('td', time(total[row]), 'number time'),
      element('td', each, 'number per-hit'),
      element('td', time(self[row]), 'number self'),
      element('td', row < 0 || !suspended[row] ? '' : time(suspended[row]), 'number await'),
      this.heatCell(row),
    ];
  }

  heatCell(row) {
    const cell = element('td', undefined, 'heat');
    const { lines } = this.model;
    if (row < 0) return cell;
    const value = lines[this.metric][row];
    const whole = this.one.total;
    cell.append(
      barElement(barOf(value, lines[`${this.metric}Error`][row], whole), heatOf(value / whole)),
      element('span', formatShare(value, whole), 'percent'),
    );
    return cell;
  }
}
