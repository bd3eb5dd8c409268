/* flow_graph.c - see flow_graph.h. */
#include "lines/flow_graph.h"

#include <stdlib.h>

void flow_graph_free(struct flow_graph *graph)
{
    free(graph->first_in);
    free(graph->in);
    free(graph->is_handler);
    free(graph->is_location);
}

static void find_edges(struct flow_graph *graph)
{
    const struct instr_list *code = graph->code;
    uint32_t n = code->n_instrs;
    uint32_t out[2];
    for (uint32_t i = 0; i < n; i++)
        for (int k = edges_out(code, i, out) - 1; k >= 0; k--)
            graph->first_in[edge_target(code, out[k]) + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        graph->first_in[i] += graph->first_in[i - 1];
    /* first_in[i + 1] is where the edges into i go; filling moves it to their end. */
    for (uint32_t i = 0; i < n; i++)
        for (int k = edges_out(code, i, out) - 1; k >= 0; k--)
            graph->in[graph->first_in[edge_target(code, out[k]) + 1]++] = out[k];
}

/*
 * The rule of the interpreter: events are possible at an instruction whose line is not that of the
 * one before it in the code, and wherever a jump or an exception leads. What some instructions jump
 * over is silent, and does not count as the one before. 3.12 has events there too if a plain jump
 * leads there: from the end of an exception that was thrown into a `yield from`.
 */
static void find_locations(struct flow_graph *graph)
{
    const struct instr_list *code = graph->code;
    const struct instr *instrs = code->instrs;
    uint32_t first = 0;
    int32_t line = 0;
    while (first < code->n_instrs && !instrs[first].enters)
        first++;
    first = first == code->n_instrs ? 0 : first; /* what stands before the entry has none */
    for (uint32_t i = first; i < code->n_instrs; i++) {
        if (instrs[i].silent)
            continue;
        graph->is_location[i] = instrs[i].line > 0 && instrs[i].line != line;
        line = instrs[i].line;
    }
    for (uint32_t i = first; i < code->n_instrs; i++) {
        uint32_t target = instrs[i].target;
        if (!instr_may_jump(&instrs[i]))
            continue;
        if (instrs[target].silent && target + 1 < code->n_instrs) {
            graph->is_location[target] = instrs[i].flow == FLOW_JUMP && instrs[target].line > 0;
            target++;
        }
        graph->is_location[target] = instrs[target].line > 0 && !instrs[target].silent;
    }
    for (uint32_t g = 0; g < code->n_guards; g++) {
        uint32_t target = code->guards[g].target;
        graph->is_handler[target] = 1;
        graph->is_location[target] = instrs[target].line > 0 && !instrs[target].silent;
    }
}

int flow_graph_build(struct flow_graph *graph, const struct instr_list *code)
{
    size_t n = code->n_instrs;
    *graph = (struct flow_graph){.code = code};
    graph->first_in = calloc(n + 2, sizeof *graph->first_in);
    graph->in = calloc(2 * n + 1, sizeof *graph->in);
    graph->is_handler = calloc(n + 1, 1);
    graph->is_location = calloc(n + 1, 1);
    if (graph->first_in == NULL || graph->in == NULL || graph->is_handler == NULL ||
        graph->is_location == NULL)
        return -1;
    find_edges(graph);
    find_locations(graph);
    return 0;
}
