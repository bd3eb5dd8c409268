'use strict';
// Starts the page: unpacks the data, then puts the graph in the place of the summary.

function exposeState(page) {
  const { model, view } = page;
  const describe = (node) => ({ node, ...model.places[model.place[node]] });
  const state = {
    get count() { return model.count; },
    get rows() { return view.lastRow + 1; },
    get totals() { return model.total.map((values) => values[0]); },
    get zoom() { return view.zoom; },
    get selected() { return describe(view.selected); },
    get flipped() { return view.flipped; },
    get theme() { return view.theme; },
    get busy() { return view.pending || view.animation !== null; },
    get search() {
      if (view.search === null) return null;
      const { pattern, valid, nodes, sums, outermost } = view.search;
      return { pattern, valid, nodes, sums: [...sums], outermost: outermost.slice(0, 100) };
    },
    get rects() {
      return view.rects.map((rect) => ({
        ...describe(rect.node),
        row: rect.row,
        count: rect.count,
        x: rect.x,
        y: view.yOfRow(rect.row),
        width: rect.width,
        values: [...rect.values],
      }));
    },
  };
  exposeReadOnly(state);
}

async function main() {
  const model = buildModel(await takePayload());
  const { countNoun } = document.getElementById('data').dataset;
  const page = new Page(model, countNoun);
  exposeState(page);
  if (model.total[0][0] > 0) {
    document.getElementById('toolbar').hidden = false;
  } else {
    showMessage(`Nothing to draw: the total is ${formatValue(0, model.metrics[0].unit)}.`);
  }
}

main().catch((error) => showMessage(`The graph cannot be shown. ${error.message}`));
