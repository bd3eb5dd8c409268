/* collect_edges.c - see collect_edges.h. */
#include "lines/collect_edges.h"

#include "base/arena.h"

#include <stdlib.h>

static int by_place(const void *left, const void *right)
{
    const struct call_total *one = left, *other = right;
    if (one->callee != other->callee)
        return one->callee < other->callee ? -1 : 1;
    if (one->caller != other->caller)
        return one->caller < other->caller ? -1 : 1;
    return (one->line > other->line) - (one->line < other->line);
}

/* Appends the edges of some totals, with their numbers negative if they are to be taken off. */
static uint32_t append(struct call_total *to, uint32_t n, const struct account_totals *from,
                       bool is_taken_off)
{
    for (uint32_t i = 0; i < from->n_edges; i++) {
        struct call_total edge = from->edges[i];
        if (edge.callee == 0)
            continue;
        if (is_taken_off) {
            edge.calls = 0 - edge.calls;
            edge.inclusive = -edge.inclusive;
            edge.exclusive = -edge.exclusive;
        }
        to[n++] = edge;
    }
    return n;
}

static bool says_something(const struct call_total *edge)
{
    return edge->calls != 0 || edge->inclusive > 0 || edge->exclusive > 0;
}

/* Adds up what is of one place; places are in order. Returns how many are left. */
static uint32_t add_up(struct call_total *edges, uint32_t n)
{
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < n;) {
        struct call_total sum = edges[i++];
        for (; i < n && by_place(&sum, &edges[i]) == 0; i++) {
            sum.calls += edges[i].calls;
            sum.inclusive += edges[i].inclusive;
            sum.exclusive += edges[i].exclusive;
        }
        if ((int64_t)sum.calls < 0)
            sum.calls = 0;
        if (says_something(&sum))
            edges[n_kept++] = sum;
    }
    return n_kept;
}

int collect_edges(struct account_totals *totals, const struct account_totals *less,
                  const struct account_totals *more)
{
    size_t n_bytes =
        ((size_t)totals->n_edges + less->n_edges + more->n_edges + 1) * sizeof(struct call_total);
    struct call_total *edges = pages_alloc(n_bytes);
    uint32_t n;
    if (edges == NULL)
        return -1;
    n = append(edges, 0, totals, false);
    n = append(edges, n, less, true);
    n = append(edges, n, more, false);
    qsort(edges, n, sizeof *edges, by_place);
    totals->edges = edges;
    totals->edge_bytes = n_bytes;
    totals->n_edges = add_up(edges, n);
    return 0;
}
