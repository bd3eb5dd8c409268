'use strict';
// Which rectangles are seen: of the rows asked for, those that overlap a range of values, with
// runs of frames narrower than a pixel drawn together. Pure; costs O(pixels), not O(nodes).

// Return rectangles [{row, node, count, x, width, right, values}]: x and width in pixels, right in
// units of the first metric; `count` frames that begin with `node` are drawn as one, and `values[k]`
// is their sum of metric k.
function layoutRows(model, range, widthPx, firstRow, lastRow) {
  const rects = [];
  const last = Math.min(lastRow, model.rows - 1);
  for (let row = Math.max(firstRow, 0); row <= last; row++) {
    layoutRow(model, range, widthPx, row, rects);
  }
  return rects;
}

function layoutRow(model, range, widthPx, row, rects) {
  const { rowStart, rowNodes, start, total } = model;
  const scale = widthPx / (range.to - range.from);
  const stop = rowStart[row + 1];
  let i = firstEndingAfter(model, rowStart[row], stop, range.from);
  while (i < stop) {
    const node = rowNodes[i];
    if (start[node] >= range.to) break;
    const left = Math.max(start[node], range.from);
    const right = Math.min(start[node] + total[0][node], range.to);
    let next = i + 1;
    if ((right - left) * scale < 1) {
      next = firstEndingAfter(model, next, stop, Math.min(left + 1 / scale, range.to));
    }
    const rect = rectangle(model, i, next, row, (left - range.from) * scale, range, scale);
    // Frames without width (blocks of zero bytes) alone are not drawn.
    if (rect.values[0] > 0) rects.push(rect);
    i = firstEndingAfter(model, next, stop, rect.right);
  }
}

function rectangle(model, i, next, row, x, range, scale) {
  const { rowNodes, rowSums, start, total } = model;
  const lastNode = rowNodes[next - 1];
  const right = Math.min(start[lastNode] + total[0][lastNode], range.to);
  return {
    row,
    node: rowNodes[i],
    count: next - i,
    x,
    width: (right - range.from) * scale - x,
    right,
    values: rowSums.map((sums, k) => sums[next - 1] - sums[i] + total[k][rowNodes[i]]),
  };
}

// Binary search in a row: the first index whose right edge is beyond a value.
function firstEndingAfter(model, low, high, value) {
  const { rowNodes, start, total } = model;
  while (low < high) {
    const middle = (low + high) >> 1;
    const node = rowNodes[middle];
    if (start[node] + total[0][node] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

function rangeOf(model, node) {
  return { from: model.start[node], to: model.start[node] + model.total[0][node] };
}

// Whether a rectangle stands for a node, alone or with others.
function holdsNode(model, rect, node) {
  return rect.row === model.depth[node] && model.start[node] >= model.start[rect.node]
    && model.start[node] < rect.right;
}

// The rectangle at a place, or null.
function rectAt(rects, row, x) {
  const isHit = (rect) => rect.row === row && x >= rect.x && x < rect.x + Math.max(rect.width, 1);
  return rects.find(isHit) || null;
}

// The node under a pixel, also when it is drawn together with others; -1 if there is none.
function nodeAt(model, range, widthPx, row, x) {
  if (row < 0 || row >= model.rows) return -1;
  const value = range.from + (x / widthPx) * (range.to - range.from);
  const stop = model.rowStart[row + 1];
  const i = firstEndingAfter(model, model.rowStart[row], stop, value);
  if (i === stop || model.start[model.rowNodes[i]] > value) return -1;
  return model.rowNodes[i];
}
