'use strict';
// Draws a scene on the canvas. A scene is plain data (see sceneOf in 70_view.js); nothing here
// changes it.

const ROW_HEIGHT = 20;
const FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const MIN_TEXT_WIDTH = 28;
const TEXT_PADDING = 4;

function paintScene(context, scene) {
  const { width, height, pixelRatio } = scene;
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = 'middle';
  const charWidth = context.measureText('0').width;
  for (const rect of scene.rects) paintRect(context, scene, rect, charWidth);
  const { model, selected, hovered } = scene;
  for (const rect of scene.rects) {
    if (scene.showsSelection && holdsNode(model, rect, selected)) outline(context, scene, rect, 2);
    else if (hovered >= 0 && holdsNode(model, rect, hovered)) outline(context, scene, rect, 1);
  }
}

function paintRect(context, scene, rect, charWidth) {
  const theme = THEMES[scene.theme];
  const y = scene.yOfRow(rect.row);
  const gap = rect.width > 3 ? 1 : 0;
  const isMatch = scene.search !== null && hasMatch(scene, rect);
  context.fillStyle = fillOf(scene, rect, isMatch);
  context.fillRect(rect.x, y, Math.max(rect.width - gap, 0.6), ROW_HEIGHT - 1);
  if (rect.count > 1 || rect.width < MIN_TEXT_WIDTH) return;
  const place = scene.model.places[scene.model.place[rect.node]];
  context.fillStyle = isMatch ? '#ffffff' : theme.text;
  paintLabel(context, scene, rect, place, y + ROW_HEIGHT / 2, charWidth);
}

function fillOf(scene, rect, isMatch) {
  const theme = THEMES[scene.theme];
  if (isMatch) return theme.match;
  if (rect.count > 1) return theme.merged;
  const isAncestor = rect.row < scene.zoomRow;
  if (rect.node === 0 || isAncestor || scene.search !== null) return theme.quiet;
  return scene.colors[scene.model.place[rect.node]];
}

function hasMatch(scene, rect) {
  const { model, search } = scene;
  const first = model.rowStart[rect.row];
  if (rect.count === 1) return search.places[model.place[rect.node]] === 1;
  const last = model.rowStart[rect.row + 1];
  let i = firstEndingAfter(model, first, last, model.start[rect.node]);
  for (const stop = i + rect.count; i < stop; i++) {
    if (search.places[model.place[model.rowNodes[i]]]) return true;
  }
  return false;
}

// Name, place and value, as much as fits: the value at the right only if all of them do.
function paintLabel(context, scene, rect, place, y, charWidth) {
  const { model } = scene;
  const room = Math.floor((rect.width - 2 * TEXT_PADDING) / charWidth);
  const label = labelOf(place, room);
  const isPlain = isPlainText(label);
  if (!isPlain) clipTo(context, rect, y);
  context.fillText(label, rect.x + TEXT_PADDING, y);
  if (!isPlain) context.restore();
  const value = `${formatValue(rect.values[0], model.metrics[0].unit)}  `
    + formatPercent(rect.values[0], model.total[0][0]);
  if (isPlain && label.length + value.length + 3 <= room) {
    context.fillText(value, rect.x + rect.width - 2 * TEXT_PADDING - value.length * charWidth, y);
  }
}

// Name and location in that many characters; the location only if some of it fits.
function labelOf(place, room) {
  const name = cutText(place.name, room);
  const location = shortLocationOf(place);
  const rest = room - name.length - 2;
  if (!location || rest < 4) return isolated(name);
  return `${isolated(name)}  ${isolated(cutText(location, rest))}`;
}

function isPlainText(text) {
  return /^[ -~…]*$/.test(text);
}

// A text whose direction cannot change the order of what stands beside it.
function isolated(text) {
  return isPlainText(text) ? text : `\u2068${text}\u2069`;
}

// Wide and composed characters have no fixed width: the rectangle cuts them.
function clipTo(context, rect, y) {
  context.save();
  context.beginPath();
  context.rect(rect.x, y - ROW_HEIGHT / 2, rect.width - TEXT_PADDING, ROW_HEIGHT);
  context.clip();
}

function cutText(text, room) {
  return text.length <= room ? text : `${text.slice(0, Math.max(room - 1, 1))}…`;
}

function outline(context, scene, rect, thickness) {
  context.strokeStyle = THEMES[scene.theme].text;
  context.lineWidth = thickness;
  const inset = thickness / 2;
  context.strokeRect(
    rect.x + inset,
    scene.yOfRow(rect.row) + inset,
    Math.max(rect.width - 1 - thickness, 1),
    ROW_HEIGHT - 1 - thickness,
  );
}
