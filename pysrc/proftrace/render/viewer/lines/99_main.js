'use strict';
// Starts the page: unpacks the data, then puts list and source in the place of the summary.

function exposeState(page) {
  const { model, list, source } = page;
  const valuesOf = (row) => Object.fromEntries(
    ['hits', 'total', 'totalError', 'self', 'selfError', 'await', 'samples']
      .map((name) => [name, row < 0 ? 0 : model.lines[name][row]]),
  );
  const state = {
    get functions() { return model.functions.map((one) => ({ ...one })); },
    get whole() { return model.whole; },
    get listed() { return [...list.indexes]; },
    get open() { return source.one ? { ...source.one } : null; },
    get lines() {
      return source.source.map(({ number, row, text }) => ({ number, text, ...valuesOf(row) }));
    },
    get line() { return source.selected; },
    get pane() { return page.parts.panes.dataset.pane; },
    get metric() { return page.metric; },
    get unit() { return page.unit; },
    get theme() { return page.theme; },
    get busy() { return list.rows.pending || source.rows.pending; },
    get search() {
      if (page.search === null) return null;
      const { pattern, valid, functions, lines } = page.search;
      return { pattern, valid, functions: [...functions], lines: lines.slice(0, 1000) };
    },
  };
  exposeReadOnly(state);
}

async function main() {
  const model = buildModel(await takePayload());
  if (model.functions.length === 0) {
    showMessage('Nothing was recorded: there is no function to show.');
    exposeReadOnly({ functions: [], busy: false });
    return;
  }
  exposeState(new Page(model));
}

main().catch((error) => showMessage(`The source cannot be shown. ${error.message}`));
