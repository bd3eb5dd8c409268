/*
 * flow_graph.h - the control flow of one code object, and where it has LINE events.
 *
 * Edges are what can follow an instruction without an exception. An edge has a number: two times
 * the instruction it leaves, plus 1 if it is the jump.
 */
#ifndef PROFTRACE_LINES_FLOW_GRAPH_H
#define PROFTRACE_LINES_FLOW_GRAPH_H

#include "lines/statements.h"

struct flow_graph {
    const struct instr_list *code;
    uint32_t *first_in;   /* n + 1 indices into `in` (and one more, used while it is built) */
    uint32_t *in;         /* edges, grouped by the instruction they lead to */
    uint8_t *is_handler;  /* an exception handler starts here */
    uint8_t *is_location; /* the interpreter may send a LINE event here */
};

/* Builds the graph; -1 when memory is out. flow_graph_free in either case. */
NODISCARD int flow_graph_build(struct flow_graph *graph, const struct instr_list *code);
void flow_graph_free(struct flow_graph *graph);

static inline bool instr_falls_through(const struct instr *instr)
{
    return instr->flow == FLOW_NEXT || instr->flow == FLOW_BRANCH;
}

static inline bool instr_may_jump(const struct instr *instr)
{
    return instr->flow == FLOW_JUMP || instr->flow == FLOW_BRANCH;
}

static inline uint32_t edge_source(uint32_t edge)
{
    return edge >> 1;
}

/* Puts the edges that leave an instruction into out[0..1] and returns how many there are. */
static inline int edges_out(const struct instr_list *code, uint32_t at, uint32_t out[2])
{
    int n = 0;
    if (instr_falls_through(&code->instrs[at]) && at + 1 < code->n_instrs)
        out[n++] = 2 * at;
    if (instr_may_jump(&code->instrs[at]))
        out[n++] = 2 * at + 1;
    return n;
}

static inline uint32_t edge_target(const struct instr_list *code, uint32_t edge)
{
    return edge & 1 ? code->instrs[edge >> 1].target : (edge >> 1) + 1;
}

#endif
