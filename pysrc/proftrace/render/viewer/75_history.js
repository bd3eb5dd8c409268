'use strict';
// Where the reader has been: each zoom is a step of the browser's history, named by #node. In
// frames that may not touch the history (sandboxes) an own list of steps stands in for it.

class ZoomHistory {
  constructor(model, show) {
    this.model = model;
    this.show = show;
    this.own = [];
    window.addEventListener('popstate', () => show(this.nodeOfPage()));
  }

  nodeOfPage() {
    const node = Number(window.location.hash.slice(1));
    const isNode = Number.isInteger(node) && node > 0 && node < this.model.count;
    return isNode && this.model.total[0][node] > 0 ? node : 0;
  }

  get depth() {
    return (window.history.state && window.history.state.depth) || 0;
  }

  go(node, from) {
    if (node === from) return;
    try {
      window.history.pushState({ depth: this.depth + 1 }, '', `#${node}`);
    } catch {
      this.own.push(from);
    }
    this.show(node);
  }

  // Back to the view before; if there is none in this page, to the caller of what is shown.
  back(from) {
    if (this.own.length) this.show(this.own.pop());
    else if (this.depth > 0) window.history.back();
    else this.go(this.model.parent[from], from);
  }
}
