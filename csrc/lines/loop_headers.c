/* loop_headers.c - see analysis.h. */
#include "lines/analysis.h"

#include <stdlib.h>

/*
 * Returns the instruction that begins what a loop iterates over, UINT32_MAX if that is not to be
 * told: it makes the value that is on the stack before the iterator is made. The code of a
 * generator expression gets the iterator by its first instruction.
 */
static uint32_t beginning_of_loop(const struct analysis *a, uint32_t fetcher)
{
    const struct instr *instrs = a->code->instrs;
    uint32_t maker = instrs[fetcher].maker, first = maker;
    if (maker == fetcher)
        return fetcher >= 2 && instrs[fetcher - 2].resumes ? fetcher - 1 : UINT32_MAX;
    if (maker + 1 != fetcher)
        return UINT32_MAX; /* a comprehension, whose beginning stands between them */
    while (first > 0 && a->depth[first] > a->depth[maker] - 1)
        first--;
    return first;
}

/* Whether the way back of a loop has no event: it comes from the line of what fetches the items. */
static bool comes_back_unseen(const struct analysis *a, uint32_t fetcher)
{
    const struct flow_graph *graph = &a->graph;
    for (uint32_t e = graph->first_in[fetcher]; e < graph->first_in[fetcher + 1]; e++) {
        uint32_t pred = edge_source(graph->in[e]);
        if (a->code->instrs[pred].closes_loop && line_of(a, pred) == line_of(a, fetcher))
            return true;
    }
    return false;
}

static int credit_header(struct analysis *a, uint32_t fetcher)
{
    const struct instr *instrs = a->code->instrs;
    uint32_t item = instrs[fetcher].item, maker = instrs[fetcher].maker;
    uint32_t first = beginning_of_loop(a, fetcher);
    if (first == UINT32_MAX)
        return 0;
    if (!comes_back_unseen(a, fetcher)) {
        a->skips[fetcher] = 1;
        a->skips[item] = 1;
        if (line_of(a, maker) != line_of(a, first))
            a->skips[maker] = 1;
        if (analysis_credit(a, fetcher, line_of(a, item)) < 0)
            return -1;
        if (line_of(a, fetcher - 1) != line_of(a, fetcher))
            return 0; /* the entry has an event there, too */
    }
    return line_of(a, first) == line_of(a, item) ? 0 : analysis_credit(a, first, line_of(a, item));
}

int loop_headers_credit(struct analysis *a)
{
    const struct instr *instrs = a->code->instrs;
    for (uint32_t i = 1; i < a->code->n_instrs; i++)
        if (instrs[i].iterates && instrs[i].flow == FLOW_BRANCH && a->depth[i] != UNREACHED &&
            instrs[i].item < a->code->n_instrs && line_of(a, instrs[i].item) > 0 &&
            line_of(a, instrs[i].item) != line_of(a, i) && !a->settled[i] &&
            credit_header(a, i) < 0)
            return -1;
    return 0;
}
