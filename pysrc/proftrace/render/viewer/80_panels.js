'use strict';
// The words around the graph: tooltip, details, search result, legend. Text goes in by textContent
// only: names are data.

// What is known of a node, as [name, text] pairs.
function factsOf(model, node, zoom, countNoun) {
  const [weight, count] = model.metrics;
  const total = model.total[0][node];
  const own = model.own[0][node];
  const facts = [
    ['total', `${formatValue(total, weight.unit)} · ${formatPercent(total, model.total[0][0])} of all`],
    ['own', `${formatValue(own, weight.unit)} · ${formatPercent(own, model.total[0][0])} of all`],
    [countNoun, `${formatValue(model.total[1][node], count.unit)}, own ${formatValue(model.own[1][node], count.unit)}`],
  ];
  if (node !== 0) {
    facts.push(['of its caller', formatPercent(total, model.total[0][model.parent[node]])]);
  }
  if (zoom !== 0 && isWithin(model, node, zoom)) {
    facts.push(['of this view', formatPercent(total, model.total[0][zoom])]);
  }
  return facts;
}

function fillFacts(target, model, node, zoom, countNoun) {
  const place = model.places[model.place[node]];
  const title = element('p', undefined, 'title');
  title.append(element('bdi', shorten(place.name), 'name'));
  const location = element('bdi', shorten(locationOf(place)), 'location');
  const list = element('dl');
  fillPairs(list, factsOf(model, node, zoom, countNoun));
  target.replaceChildren(title, location, list);
}

function fillMerged(target, model, rect, countNoun) {
  const [weight, count] = model.metrics;
  const sum = formatValue(rect.values[0], weight.unit);
  const share = formatPercent(rect.values[0], model.total[0][0]);
  const blocks = `${formatValue(rect.values[1], count.unit)} ${countNoun}`;
  target.replaceChildren(
    element('p', `${formatCount(rect.count)} frames too narrow to draw`, 'title'),
    element('p', `${sum} · ${share} of all · ${blocks} together. Click to zoom in.`),
  );
}

// Stand beside the pointer, inside the window.
function placeTooltip(tooltip, x, y) {
  tooltip.hidden = false;
  const { offsetWidth, offsetHeight } = tooltip;
  const left = x + 14 + offsetWidth > window.innerWidth ? x - 14 - offsetWidth : x + 14;
  const top = y + 18 + offsetHeight > window.innerHeight ? y - 12 - offsetHeight : y + 18;
  tooltip.style.left = `${Math.max(left, 4)}px`;
  tooltip.style.top = `${Math.max(top, 4)}px`;
}

// One sentence for the live region.
function sentenceOf(model, node) {
  const place = model.places[model.place[node]];
  const parts = [shorten(place.name)];
  if (place.file) parts.push(shorten(shortLocationOf(place)).replace(/:(\d+)$/, ' line $1'));
  parts.push(formatValue(model.total[0][node], model.metrics[0].unit));
  parts.push(`${formatShare(model.total[0][node], model.total[0][0])} percent of all`);
  return parts.join(', ');
}

function searchResultText(model, search) {
  if (search === null) return '';
  if (search.nodes === 0) return `${search.valid ? '' : 'not a regular expression; as text: '}no match`;
  const [weight] = model.metrics;
  const frames = `${formatCount(search.nodes)} frame${search.nodes === 1 ? '' : 's'}`;
  const share = formatPercent(search.sums[0], model.total[0][0]);
  const text = `${frames} · ${formatValue(search.sums[0], weight.unit)} · ${share} of all`;
  return search.valid ? text : `not a regular expression; as text: ${text}`;
}

function fillLegend(list, model, themeName) {
  const present = new Set(model.places.filter((place) => place.file).map((place) => place.origin));
  list.replaceChildren(...ORIGINS.flatMap(({ name }, origin) => {
    if (!present.has(origin)) return [];
    const item = element('li', name);
    const swatch = element('span', undefined, 'swatch');
    swatch.style.background = shadeColor(origin, 2, themeName);
    item.prepend(swatch);
    return [item];
  }));
}

function stackText(model, node) {
  return pathTo(model, node).slice(1).map((step) => {
    const place = model.places[model.place[step]];
    const location = locationOf(place);
    return location ? `${place.name} (${location})` : place.name;
  }).join('\n');
}
