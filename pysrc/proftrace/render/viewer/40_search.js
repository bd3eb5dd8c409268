'use strict';
// Search: a pattern is tried once for each place, never for each node. Pure.

function searchTextOf(place) {
  const location = locationOf(place);
  return location ? `${place.name} ${location}` : place.name;
}

// Match all places; the outermost matching nodes are counted, what is below them is in them.
// Return {valid, places, nodes, outermost, sums}: `places` marks places, `nodes` is how many frames
// match, `outermost` lists the outermost ones, the largest first, `sums[k]` is their metric k.
function searchModel(model, pattern) {
  const { test, valid } = compileSearch(pattern);
  const places = Uint8Array.from(model.places, (place) => (test(searchTextOf(place)) ? 1 : 0));
  const outermost = [];
  const sums = model.total.map(() => 0);
  let nodes = 0;
  let coveredTo = 0;
  for (let node = 1; node < model.count; node++) {
    if (!places[model.place[node]]) continue;
    nodes++;
    if (node < coveredTo) continue;
    coveredTo = model.end[node];
    outermost.push(node);
    model.total.forEach((total, k) => { sums[k] += total[node]; });
  }
  outermost.sort((a, b) => model.total[0][b] - model.total[0][a] || a - b);
  return { pattern, valid, places, nodes, outermost, sums };
}
