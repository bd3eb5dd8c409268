/* call_edges.c - see call_edges.h. */
#include "lines/call_edges.h"

#define SLOTS_AT_FIRST 256u

/* Where the edge is in the open addressing, or would be. */
static struct call_edge **edge_slot(const struct lines_thread *thread,
                                    const struct line_cell *caller, const struct code_table *callee)
{
    uint32_t at = (uint32_t)((((uintptr_t)caller >> 6) * 0x9e3779b97f4a7c15u ^
                              ((uintptr_t)callee >> 4) * 0xc2b2ae3d27d4eb4fu) >>
                             32);
    for (;; at++) {
        struct call_edge **slot = &thread->edge_slots[at & (thread->n_edge_slots - 1)];
        if (*slot == NULL || ((*slot)->caller == caller && (*slot)->callee == callee))
            return slot;
    }
}

/* Keeps the slots at most half full. */
static int reserve_edge_slot(struct lines_thread *thread)
{
    uint32_t n = thread->n_edge_slots == 0 ? SLOTS_AT_FIRST : 2 * thread->n_edge_slots;
    struct call_edge **slots;
    if (2 * thread->n_edges < thread->n_edge_slots)
        return 0;
    slots = arena_alloc(&thread->arena, n * sizeof *slots);
    if (slots == NULL)
        return -1;
    thread->edge_slots = slots;
    thread->n_edge_slots = n;
    for (struct call_edge *edge = thread->edges; edge != NULL; edge = edge->next)
        *edge_slot(thread, edge->caller, edge->callee) = edge;
    return 0;
}

struct call_edge *call_edges_find(struct lines_thread *thread, const struct code_table *table,
                                  const struct line_cell *caller, const struct code_table *callee)
{
    struct call_edge **slot;
    struct call_edge *edge;
    if (reserve_edge_slot(thread) < 0)
        return NULL;
    slot = edge_slot(thread, caller, callee);
    if (likely(*slot != NULL))
        return *slot;
    edge = arena_alloc(&thread->arena, sizeof *edge);
    if (edge == NULL)
        return NULL;
    edge->caller = caller;
    edge->caller_table = table;
    edge->callee = callee;
    edge->number = thread->n_edges++;
    edge->next = thread->edges;
    *slot = edge;
    __atomic_store_n(&thread->edges, edge, __ATOMIC_RELEASE);
    return edge;
}
