/*
 * hit_terms.c - hits from instruction counts (statements.h).
 *
 * A LINE event is an arrival at an instruction from another line. Where all ways lead in from other
 * lines, arrivals are executions. Where some come from the same line (the entry of a loop, whose
 * header is also reached by the way back), those edges are taken off. How often an edge was taken
 * follows from the equations of the flow: what enters an instruction is what it executed, what
 * leaves it is what it completed.
 */
#include "lines/flow_graph.h"

#include <stdlib.h>

/* Bounds the search in the equations; a real edge is found in a few steps. */
#define MAX_DEPTH 40
#define MAX_STEPS 2000
#define MAX_TERMS_AT_ONCE 512u

struct search {
    const struct flow_graph *graph;
    struct hit_term terms[MAX_TERMS_AT_ONCE]; /* of the location in hand */
    uint32_t n_terms;
    int steps_left;
};

struct result {
    struct hit_term *terms;
    uint32_t n_terms;
    uint32_t capacity;
};

static bool add_edge(struct search *search, uint32_t edge, int32_t sign, int depth);
static bool add_edge_from_target(struct search *search, uint32_t edge, int32_t sign, int depth);

static const struct instr *instr_at(const struct search *search, uint32_t at)
{
    return &search->graph->code->instrs[at];
}

static bool add_term(struct search *search, uint32_t at, int32_t sign, bool completed)
{
    if (search->n_terms == MAX_TERMS_AT_ONCE)
        return false;
    search->terms[search->n_terms++] =
        (struct hit_term){.coefficient = sign, .instr = at, .completed = completed};
    return true;
}

/* Whether what an instruction completed is what goes on behind it: a generator may never go on. */
static bool keeps_going(const struct search *search, uint32_t at)
{
    const struct instr *instr = instr_at(search, at);
    return instr->flow != FLOW_END && !instr->suspends;
}

/* Adds all edges into an instruction but one. */
static bool add_edges_in(struct search *search, uint32_t at, uint32_t except, int32_t sign,
                         int depth)
{
    const struct flow_graph *graph = search->graph;
    for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++)
        if (graph->in[e] != except && !add_edge(search, graph->in[e], sign, depth + 1))
            return false;
    return true;
}

/* Adds how often an edge was taken, by what its source completed and its other edge. */
static bool add_edge_from_source(struct search *search, uint32_t edge, int32_t sign, int depth)
{
    const struct instr_list *code = search->graph->code;
    uint32_t source = edge_source(edge);
    uint32_t out[2];
    int n = edges_out(code, source, out);
    if (!keeps_going(search, source) || instr_at(search, source)->resumes)
        return false;
    if (instr_at(search, source)->uncounted) /* it cannot fail: what goes in comes out */
        return n == 1 && !search->graph->is_handler[source] && source != 0 &&
               add_edges_in(search, source, UINT32_MAX, sign, depth);
    if (!add_term(search, source, sign, true))
        return false;
    return n == 1 ||
           add_edge_from_target(search, out[0] == edge ? out[1] : out[0], -sign, depth + 1);
}

/* The same by what its target executed and the other edges that lead there. */
static bool add_edge_from_target(struct search *search, uint32_t edge, int32_t sign, int depth)
{
    const struct flow_graph *graph = search->graph;
    uint32_t target = edge_target(graph->code, edge);
    uint32_t out[2];
    if (depth > MAX_DEPTH || search->steps_left-- < 0 || graph->is_handler[target] || target == 0)
        return false;
    if (!instr_at(search, target)->uncounted) {
        if (!add_term(search, target, sign, false))
            return false;
    } else if (edges_out(graph->code, target, out) != 1 || instr_at(search, target)->resumes ||
               !add_edge_from_target(search, out[0], sign, depth + 1)) {
        return false;
    }
    for (uint32_t e = graph->first_in[target]; e < graph->first_in[target + 1]; e++)
        if (graph->in[e] != edge && !add_edge_from_source(search, graph->in[e], -sign, depth + 1))
            return false;
    return true;
}

static bool add_edge(struct search *search, uint32_t edge, int32_t sign, int depth)
{
    uint32_t n_terms = search->n_terms;
    if (depth > MAX_DEPTH || search->steps_left-- < 0)
        return false;
    if (add_edge_from_source(search, edge, sign, depth))
        return true;
    search->n_terms = n_terms;
    if (add_edge_from_target(search, edge, sign, depth))
        return true;
    search->n_terms = n_terms;
    return false;
}

/* Whether an event is delivered when execution takes this edge to a location. */
static bool is_delivered(const struct search *search, uint32_t edge)
{
    const struct instr *source = instr_at(search, edge_source(edge));
    uint32_t target = edge_target(search->graph->code, edge);
    return source->resumes || source->line != instr_at(search, target)->line;
}

/* Takes off the exceptions that reach a handler from its own line. */
static bool subtract_raises(struct search *search, uint32_t at)
{
    const struct instr_list *code = search->graph->code;
    for (uint32_t i = 0; i < code->n_instrs; i++) {
        const struct instr *instr = &code->instrs[i];
        bool is_guarded = false;
        if (instr->line != instr_at(search, at)->line || instr->resumes || instr->uncounted)
            continue;
        for (uint32_t g = 0; g < code->n_guards && !is_guarded; g++)
            is_guarded = i >= code->guards[g].start && i < code->guards[g].end &&
                         code->guards[g].target == at;
        if (!is_guarded)
            continue;
        if (instr->reraises || instr->suspends)
            return false; /* where it came from is not to be told */
        if (!add_term(search, i, -1, false))
            return false;
        if (instr->flow != FLOW_END && !add_term(search, i, 1, true))
            return false;
    }
    return true;
}

/* Arrivals = executions - what comes from the same line. */
static bool find_by_executions(struct search *search, uint32_t at)
{
    const struct flow_graph *graph = search->graph;
    if (instr_at(search, at)->uncounted || !add_term(search, at, 1, false))
        return false;
    for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++)
        if (!is_delivered(search, graph->in[e]) && !add_edge(search, graph->in[e], -1, 0))
            return false;
    return !graph->is_handler[at] || subtract_raises(search, at);
}

/* Arrivals = the sum of what comes from other lines. */
static bool find_by_edges(struct search *search, uint32_t at)
{
    const struct flow_graph *graph = search->graph;
    for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++)
        if (is_delivered(search, graph->in[e]) && !add_edge(search, graph->in[e], 1, 0))
            return false;
    return !graph->is_handler[at] && at != 0;
}

static bool is_ever_delivered(const struct search *search, uint32_t at)
{
    const struct flow_graph *graph = search->graph;
    for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++)
        if (is_delivered(search, graph->in[e]))
            return true;
    return graph->is_handler[at] || at == 0;
}

static int keep_terms(struct result *result, const struct search *search, int32_t line)
{
    for (uint32_t i = 0; i < search->n_terms; i++) {
        if (result->n_terms == result->capacity) {
            uint32_t capacity = result->capacity * 2 + 64;
            struct hit_term *terms = realloc(result->terms, capacity * sizeof *terms);
            if (terms == NULL)
                return -1;
            result->terms = terms;
            result->capacity = capacity;
        }
        result->terms[result->n_terms] = search->terms[i];
        result->terms[result->n_terms++].line = line;
    }
    return 0;
}

static int compare_terms(const void *left, const void *right)
{
    const struct hit_term *l = left, *r = right;
    if (l->line != r->line)
        return l->line < r->line ? -1 : 1;
    if (l->instr != r->instr)
        return l->instr < r->instr ? -1 : 1;
    return (int)l->completed - (int)r->completed;
}

/* Joins terms of the same count and drops those that cancel out. */
static void simplify(struct result *result)
{
    struct hit_term *terms = result->terms;
    uint32_t n_joined = 0, n_kept = 0;
    if (result->n_terms == 0)
        return;
    qsort(terms, result->n_terms, sizeof *terms, compare_terms);
    for (uint32_t i = 1; i < result->n_terms; i++) {
        if (compare_terms(&terms[n_joined], &terms[i]) == 0)
            terms[n_joined].coefficient += terms[i].coefficient;
        else
            terms[++n_joined] = terms[i];
    }
    for (uint32_t i = 0; i <= n_joined; i++)
        if (terms[i].coefficient != 0)
            terms[n_kept++] = terms[i];
    result->n_terms = n_kept;
}

/* Finds the terms of the arrivals at one location. */
static bool find_arrivals(struct search *search, uint32_t at)
{
    search->n_terms = 0;
    search->steps_left = MAX_STEPS;
    if (find_by_executions(search, at))
        return true;
    search->n_terms = 0;
    search->steps_left = MAX_STEPS;
    return find_by_edges(search, at);
}

static int find_all(struct search *search, const struct hit_rules *rules, struct result *result)
{
    const struct flow_graph *graph = search->graph;
    for (uint32_t i = 0; i < graph->code->n_instrs; i++) {
        const struct instr *instr = &graph->code->instrs[i];
        bool counts = !unit_is_marked(rules->skip, instr->unit), is_credited = false;
        for (uint32_t c = 0; c < rules->n_credits; c++)
            is_credited |= rules->credits[c].unit == instr->unit;
        if (!graph->is_location[i] || !(counts || is_credited) || !is_ever_delivered(search, i))
            continue;
        if (!find_arrivals(search, i) || (counts && keep_terms(result, search, instr->line) < 0))
            return -1;
        for (uint32_t c = 0; c < rules->n_credits; c++)
            if (rules->credits[c].unit == instr->unit &&
                keep_terms(result, search, rules->credits[c].line) < 0)
                return -1;
    }
    simplify(result);
    return 0;
}

int statements_find_terms(const struct instr_list *code, const struct hit_rules *rules,
                          struct hit_term **terms)
{
    struct flow_graph graph = {0};
    struct result result = {0};
    struct search search = {.graph = &graph};
    int n_terms = -1;
    *terms = NULL;
    if (flow_graph_build(&graph, code) == 0 && find_all(&search, rules, &result) == 0) {
        n_terms = (int)result.n_terms;
        *terms = result.terms;
    } else {
        free(result.terms);
    }
    flow_graph_free(&graph);
    return n_terms;
}
