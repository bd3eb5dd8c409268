/* statements.c - see statements.h. */
#include "lines/statements.h"

#include "lines/flow_graph.h"

#include <stdlib.h>

#define UNREACHED (INT32_MIN / 2) /* adding an effect to it must not overflow */
/* Bounds the work on generated code of absurd size; what is left counts like a LINE event. */
#define STEPS_PER_INSTR 400

struct analysis {
    const struct instr_list *code;
    struct hit_rules *rules; /* what is found */
    struct flow_graph graph;
    int32_t *depth;    /* before each instruction; UNREACHED where no path leads */
    uint64_t *keys;    /* line << 32 | instruction index, sorted */
    uint32_t *by_line; /* the instruction indices in that order */
    uint32_t *queue;
    uint32_t *seen; /* stamp of the search that visited it last */
    uint32_t stamp;
    uint8_t *is_header; /* the way back of a loop leads here */
    uint8_t *skips;
    int64_t steps_left;
};

/* Puts the successors of `at` into next[0..1] and their depths into depths; returns how many. */
static int successors(const struct analysis *a, uint32_t at, uint32_t next[2], int32_t depths[2])
{
    const struct instr *instr = &a->code->instrs[at];
    int n = 0;
    if (instr_falls_through(instr) && at + 1 < a->code->n_instrs) {
        next[n] = at + 1;
        depths[n++] = a->depth[at] + instr->effect_next;
    }
    if (instr_may_jump(instr)) {
        next[n] = instr->target;
        depths[n++] = a->depth[at] + instr->effect_jump;
    }
    return n;
}

static void analysis_free(struct analysis *a)
{
    free(a->depth);
    flow_graph_free(&a->graph);
    free(a->keys);
    free(a->by_line);
    free(a->queue);
    free(a->seen);
    free(a->is_header);
    free(a->skips);
}

static int analysis_alloc(struct analysis *a, uint32_t n)
{
    a->depth = malloc((n + 1) * sizeof *a->depth);
    a->keys = malloc((n + 1) * sizeof *a->keys);
    a->by_line = malloc((n + 1) * sizeof *a->by_line);
    a->queue = malloc((n + 1) * sizeof *a->queue);
    a->seen = calloc(n + 1, sizeof *a->seen);
    a->is_header = calloc(n + 1, 1);
    a->skips = calloc(n + 1, 1);
    return a->depth && a->keys && a->by_line && a->queue && a->seen && a->is_header && a->skips
               ? 0
               : -1;
}

static void find_headers(struct analysis *a)
{
    for (uint32_t i = 0; i < a->code->n_instrs; i++)
        if (instr_may_jump(&a->code->instrs[i]) && a->code->instrs[i].closes_loop)
            a->is_header[a->code->instrs[i].target] = 1;
}

static void reach(struct analysis *a, uint32_t at, int32_t depth, uint32_t *n_queued)
{
    if (a->depth[at] == UNREACHED) {
        a->depth[at] = depth;
        a->queue[(*n_queued)++] = at;
    }
}

/* Follows all paths from the entry; the handlers of guarded code count as reached by it. */
static void find_depths(struct analysis *a)
{
    const struct instr_list *code = a->code;
    uint32_t n_queued = 0, done = 0;
    uint32_t next[2];
    int32_t depths[2];
    for (uint32_t i = 0; i < code->n_instrs; i++)
        a->depth[i] = UNREACHED;
    if (code->n_instrs > 0)
        reach(a, 0, 0, &n_queued);
    for (uint32_t g = 0; g < code->n_guards; g++)
        reach(a, code->guards[g].target, code->guards[g].depth + code->guards[g].pushed, &n_queued);
    while (done < n_queued) {
        uint32_t at = a->queue[done++];
        for (int k = successors(a, at, next, depths) - 1; k >= 0; k--)
            reach(a, next[k], depths[k], &n_queued);
    }
}

static int32_t line_of(const struct analysis *a, uint32_t at)
{
    return a->code->instrs[at].line;
}

/* Whether an event can be delivered at this instruction. */
static bool is_location(const struct analysis *a, uint32_t at)
{
    return a->graph.is_location[at] && a->depth[at] != UNREACHED;
}

/*
 * Whether this is the way back of a `while True`: there is no test to go back to, so the jump has
 * the line of the header, and leads to the body behind it.
 */
static bool repeats_header(const struct analysis *a, uint32_t at)
{
    const struct instr *instrs = a->code->instrs;
    uint32_t target = instrs[at].target;
    return instrs[at].closes_loop && instrs[at].flow == FLOW_JUMP && target > 0 &&
           instr_falls_through(&instrs[target - 1]) && line_of(a, target - 1) == line_of(a, at) &&
           line_of(a, target) != line_of(a, at) && !instrs[target].iterates;
}

/*
 * Whether an arrival here is an iteration of a loop. It is told by the instruction that fetches the
 * next item, or by the one behind it when only that is on the line of the loop (the compiler of
 * 3.12 puts the first on the line of the bracket of a comprehension).
 */
static bool is_iteration(const struct analysis *a, uint32_t at)
{
    const struct instr *instrs = a->code->instrs;
    if (repeats_header(a, at))
        return true;
    if (instrs[at].iterates)
        return at + 1 < a->code->n_instrs && instrs[at + 1].line == instrs[at].line;
    if (at > 0 && instrs[at - 1].iterates)
        return instrs[at - 1].line != instrs[at].line;
    return a->is_header[at] && instrs[at].flow != FLOW_JUMP;
}

static bool visit(struct analysis *a, uint32_t at, uint32_t *n_queued)
{
    if (a->seen[at] == a->stamp)
        return false;
    a->seen[at] = a->stamp;
    a->queue[(*n_queued)++] = at;
    a->steps_left--;
    return true;
}

/*
 * Stamps what can be reached from the instructions in `line` (n of them, all on one line) that
 * stand at `base`, while more than `base` values are on the stack: while what they began is in
 * progress.
 */
static void stamp_in_progress(struct analysis *a, const uint32_t *line, uint32_t n, int32_t base)
{
    const struct instr_list *code = a->code;
    uint32_t n_queued = 0, done = 0;
    uint32_t next[2];
    int32_t depths[2];
    a->stamp++;
    for (uint32_t i = 0; i < n; i++) {
        if (a->depth[line[i]] != base)
            continue;
        for (int k = successors(a, line[i], next, depths) - 1; k >= 0; k--)
            if (depths[k] > base)
                visit(a, next[k], &n_queued);
    }
    while (done < n_queued) {
        uint32_t at = a->queue[done++];
        for (int k = successors(a, at, next, depths) - 1; k >= 0; k--)
            if (depths[k] > base)
                visit(a, next[k], &n_queued);
        for (uint32_t g = 0; g < code->n_guards; g++)
            if (at >= code->guards[g].start && at < code->guards[g].end &&
                code->guards[g].depth > base)
                visit(a, code->guards[g].target, &n_queued);
    }
}

/*
 * Whether every way to an instruction on which an event is delivered is in progress too: the two
 * arms of a conditional expression meet where its value is stored, and only one may be on the line.
 */
static bool is_reached_in_progress_only(const struct analysis *a, uint32_t at)
{
    const struct flow_graph *graph = &a->graph;
    for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++) {
        uint32_t pred = edge_source(graph->in[e]);
        if (a->seen[pred] != a->stamp && line_of(a, pred) != line_of(a, at))
            return false;
    }
    return true;
}

/*
 * Marks what a line comes back to. A loop whose items are fetched on this line, but entered from
 * another one (a comprehension), is told by its iterations alone, so its beginning is skipped.
 */
static void skip_in_progress(struct analysis *a, const uint32_t *line, uint32_t n, int32_t base)
{
    bool entered_from_elsewhere = false;
    stamp_in_progress(a, line, n, base);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = line[i];
        if (a->seen[at] != a->stamp || a->depth[at] <= base)
            continue;
        if (!is_iteration(a, at))
            a->skips[at] |= is_location(a, at) && is_reached_in_progress_only(a, at);
        else if (a->code->instrs[at].iterates && at > 0 && line_of(a, at - 1) != line_of(a, at))
            entered_from_elsewhere = true;
    }
    for (uint32_t i = 0; entered_from_elsewhere && i < n; i++)
        if (a->depth[line[i]] == base && is_location(a, line[i]))
            a->skips[line[i]] = 1;
}

/* Whether an arm of a conditional expression, or the next operand of `or`, begins behind this. */
static bool ends_a_test(const struct analysis *a, uint32_t at)
{
    const struct instr *instr = &a->code->instrs[at];
    if (instr->effect_next >= 0 || instr->iterates)
        return false;
    if (instr->flow == FLOW_NEXT && at > 0 &&
        a->graph.first_in[at + 1] - a->graph.first_in[at] == 1)
        return edge_source(a->graph.in[a->graph.first_in[at]]) == at - 1 &&
               ends_a_test(a, at - 1) &&
               a->code->instrs[at - 1].flow == FLOW_BRANCH; /* the operand is dropped */
    return instr->flow == FLOW_BRANCH;
}

/*
 * Whether the value that the instruction `at` takes from the stack was made, wholly or in the test
 * of a conditional expression, by other instructions of the same line: `x = (a if c` / `else b)`
 * comes back to its first line for the store.
 */
static bool completes_its_line(struct analysis *a, uint32_t start)
{
    const struct flow_graph *graph = &a->graph;
    int32_t line = line_of(a, start);
    uint32_t n_queued = 0, done = 0;
    a->stamp++;
    visit(a, start, &n_queued);
    while (done < n_queued) {
        uint32_t at = a->queue[done++];
        for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++) {
            uint32_t pred = edge_source(graph->in[e]);
            const struct instr *instr = &a->code->instrs[pred];
            /* `at` still needs the value, or begins one arm of a conditional expression. */
            if (a->depth[at] < a->depth[start] && !ends_a_test(a, pred))
                continue;
            if (instr->line == line && at == start)
                continue; /* no event on this way */
            if (instr->line == line && pred != start)
                return true;
            visit(a, pred, &n_queued);
        }
    }
    return false;
}

/* Whether another instruction of the line leads to this jump or return, by whatever path. */
static bool ends_its_line(struct analysis *a, uint32_t start)
{
    const struct flow_graph *graph = &a->graph;
    int32_t line = line_of(a, start);
    uint32_t n_queued = 0, done = 0;
    a->stamp++;
    visit(a, start, &n_queued);
    while (done < n_queued) {
        uint32_t at = a->queue[done++];
        for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++) {
            uint32_t pred = edge_source(graph->in[e]);
            const struct instr *instr = &a->code->instrs[pred];
            if (instr->line == line && at == start)
                continue; /* no event on this way */
            if (instr->line == line && instr_falls_through(instr))
                return true;
            visit(a, pred, &n_queued);
        }
    }
    return false;
}

static void analyse_line(struct analysis *a, const uint32_t *line, uint32_t n)
{
    uint32_t n_locations = 0, n_skipped = 0;
    int32_t deepest_done = UNREACHED;
    for (uint32_t i = 0; i < n; i++)
        n_locations += is_location(a, line[i]);
    if (n_locations < 2)
        return;
    for (;;) { /* each depth that the line begins something at, from the outside in */
        int32_t base = INT32_MAX;
        for (uint32_t i = 0; i < n; i++)
            if (a->depth[line[i]] != UNREACHED && a->depth[line[i]] > deepest_done &&
                a->depth[line[i]] < base)
                base = a->depth[line[i]];
        if (base == INT32_MAX || a->steps_left < 0)
            break;
        skip_in_progress(a, line, n, base);
        deepest_done = base;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct instr *instr = &a->code->instrs[line[i]];
        if (a->steps_left >= 0 && is_location(a, line[i]) && !a->skips[line[i]] &&
            !is_iteration(a, line[i])) {
            if (instr->takes && completes_its_line(a, line[i]))
                a->skips[line[i]] = 1;
            else if ((instr->flow == FLOW_END || instr->flow == FLOW_JUMP) &&
                     ends_its_line(a, line[i]))
                a->skips[line[i]] = 1;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        n_skipped += a->skips[line[i]];
    if (n_skipped == n_locations) /* no beginning was found: believe the events */
        for (uint32_t i = 0; i < n; i++)
            a->skips[line[i]] = 0;
}

static int compare_keys(const void *left, const void *right)
{
    uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
    return l < r ? -1 : l > r;
}

static void analyse_lines(struct analysis *a)
{
    uint32_t n = a->code->n_instrs;
    uint32_t start = 0;
    for (uint32_t i = 0; i < n; i++)
        a->keys[i] = (uint64_t)(uint32_t)line_of(a, i) << 32 | i;
    qsort(a->keys, n, sizeof *a->keys, compare_keys);
    for (uint32_t i = 0; i < n; i++)
        a->by_line[i] = (uint32_t)a->keys[i];
    for (uint32_t i = 1; i <= n; i++) {
        if (i < n && a->keys[i] >> 32 == a->keys[start] >> 32)
            continue;
        if (a->keys[start] >> 32 != 0)
            analyse_line(a, a->by_line + start, i - start);
        start = i;
    }
}

void hit_rules_free(struct hit_rules *rules)
{
    free(rules->skip);
    free(rules->credits);
    *rules = (struct hit_rules){0};
}

int statements_find(const struct instr_list *code, struct hit_rules *rules)
{
    struct analysis a = {.code = code, .rules = rules};
    int n_skipped = -1;
    *rules = (struct hit_rules){.skip = calloc(code->n_units / 8 + 1, 1)};
    if (rules->skip == NULL)
        return -1;
    if (flow_graph_build(&a.graph, code) < 0 || analysis_alloc(&a, code->n_instrs) < 0)
        goto done;
    a.steps_left = (int64_t)STEPS_PER_INSTR * code->n_instrs;
    find_headers(&a);
    find_depths(&a);
    analyse_lines(&a);
    n_skipped = 0;
    for (uint32_t i = 0; i < code->n_instrs; i++) {
        if (!a.skips[i])
            continue;
        rules->skip[code->instrs[i].unit >> 3] |= (uint8_t)(1u << (code->instrs[i].unit & 7));
        n_skipped++;
    }
done:
    analysis_free(&a);
    if (n_skipped < 0)
        hit_rules_free(rules);
    return n_skipped;
}
