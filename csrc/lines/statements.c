/* statements.c - see statements.h. */
#include "lines/statements.h"

#include "lines/analysis.h"

#include <stdlib.h>

/* Bounds the work on generated code of absurd size; what is left counts like a LINE event. */
#define STEPS_PER_INSTR 400

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
    free(a->fetcher);
    free(a->is_header);
    free(a->never_begins);
    free(a->settled);
    free(a->skips);
}

static int analysis_alloc(struct analysis *a, uint32_t n)
{
    a->depth = malloc((n + 1) * sizeof *a->depth);
    a->keys = malloc((n + 1) * sizeof *a->keys);
    a->by_line = malloc((n + 1) * sizeof *a->by_line);
    a->queue = malloc((n + 1) * sizeof *a->queue);
    a->seen = calloc(n + 1, sizeof *a->seen);
    a->fetcher = calloc(n + 1, sizeof *a->fetcher);
    a->is_header = calloc(n + 1, 1);
    a->never_begins = calloc(n + 1, 1);
    a->settled = calloc(n + 1, 1);
    a->skips = calloc(n + 1, 1);
    return a->depth && a->keys && a->by_line && a->queue && a->seen && a->fetcher && a->is_header &&
                   a->never_begins && a->settled && a->skips
               ? 0
               : -1;
}

static void find_loops(struct analysis *a)
{
    const struct instr *instrs = a->code->instrs;
    for (uint32_t i = 0; i < a->code->n_instrs; i++) {
        if (instr_may_jump(&instrs[i]) && instrs[i].closes_loop)
            a->is_header[instrs[i].target] = !instrs[instrs[i].target].silent;
        if (instrs[i].iterates && instrs[i].item < a->code->n_instrs)
            a->fetcher[instrs[i].item] = i + 1;
    }
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

/* The instruction that fetches what this one takes, UINT32_MAX if this does not take an item. */
static uint32_t fetcher_of(const struct analysis *a, uint32_t at)
{
    return a->fetcher[at] == 0 ? UINT32_MAX : a->fetcher[at] - 1;
}

/*
 * Whether an arrival here is an iteration of a loop. It is told by the instruction that fetches the
 * next item, or by the one that takes it when only that is on the line of the loop (some compilers
 * put the first on the line of the bracket of a comprehension).
 */
static bool is_iteration(const struct analysis *a, uint32_t at)
{
    const struct instr *instrs = a->code->instrs;
    if (repeats_header(a, at))
        return true;
    if (instrs[at].iterates)
        return instrs[instrs[at].item].line == instrs[at].line;
    if (fetcher_of(a, at) != UINT32_MAX)
        return instrs[fetcher_of(a, at)].line != instrs[at].line;
    return a->is_header[at] && instrs[at].flow != FLOW_JUMP;
}

/*
 * Whether an arrival here is an iteration that counts although its line has something in progress
 * that stands at `base` on the stack: if that is only what the loop iterates over.
 */
static bool is_counted_iteration(const struct analysis *a, uint32_t at, int32_t base)
{
    const struct instr *instrs = a->code->instrs;
    uint32_t fetcher = instrs[at].iterates ? at : fetcher_of(a, at);
    if (!is_iteration(a, at))
        return false;
    if (fetcher == UINT32_MAX || a->depth[instrs[fetcher].maker] - 1 == base)
        return true;
    return fetcher > 0 && instrs[fetcher - 1].makes_iterator &&
           a->depth[fetcher - 1] - 1 == base; /* since 3.15 in a comprehension too */
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

/* The depth of the stack under what an instruction begins: under its result, if that stays. */
static int32_t base_of(const struct analysis *a, uint32_t at)
{
    const struct instr *instr = &a->code->instrs[at];
    if (a->depth[at] == UNREACHED)
        return UNREACHED;
    if (instr->makes_iterator && instr->effect_next > 0)
        return a->depth[at] - 1; /* since 3.15 an iterator is two values */
    return a->depth[at] + (instr->makes && instr->effect_next <= 0 ? instr->effect_next - 1 : 0);
}

/* Stamps what can be reached from what is queued while more than `base` values are on the stack. */
static void spread(struct analysis *a, int32_t base, uint32_t n_queued)
{
    const struct instr_list *code = a->code;
    uint32_t done = 0;
    uint32_t next[2];
    int32_t depths[2];
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
 * Stamps where something is in progress that the instructions in `line` (n of them, all on one
 * line) begin at `base`.
 */
static void stamp_in_progress(struct analysis *a, const uint32_t *line, uint32_t n, int32_t base)
{
    uint32_t n_queued = 0;
    uint32_t next[2];
    int32_t depths[2];
    a->stamp++;
    for (uint32_t i = 0; i < n; i++) {
        if (base_of(a, line[i]) != base)
            continue;
        for (int k = successors(a, line[i], next, depths) - 1; k >= 0; k--)
            if (depths[k] > base)
                visit(a, next[k], &n_queued);
    }
    spread(a, base, n_queued);
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
        if (!is_counted_iteration(a, at, base))
            a->skips[at] |= is_location(a, at) && is_reached_in_progress_only(a, at);
        else if (a->code->instrs[at].iterates && at > 0 && line_of(a, at - 1) != line_of(a, at))
            entered_from_elsewhere = true;
    }
    for (uint32_t i = 0; entered_from_elsewhere && i < n; i++)
        if (a->depth[line[i]] == base && is_location(a, line[i]))
            a->skips[line[i]] = 1;
}

/* Whether this only says which way a branch went (NOT_TAKEN). */
static bool is_mark(const struct instr *instr)
{
    return instr->uncounted && instr->flow == FLOW_NEXT && instr->effect_next == 0 &&
           !instr->resumes;
}

/* Whether this is the test of a branch, or the mark behind one. */
static bool is_test(const struct analysis *a, uint32_t at)
{
    const struct instr *instrs = a->code->instrs;
    while (at > 0 && is_mark(&instrs[at]))
        at--;
    return instrs[at].flow == FLOW_BRANCH && instrs[at].effect_next < 0 && !instrs[at].iterates;
}

/* Whether an arm of a conditional expression, or the next operand of `or`, begins behind this. */
static bool ends_a_test(const struct analysis *a, uint32_t at)
{
    const struct flow_graph *graph = &a->graph;
    const struct instr *instr = &a->code->instrs[at];
    if (instr->flow != FLOW_NEXT || is_mark(instr))
        return is_test(a, at);
    if (instr->effect_next >= 0)
        return false;
    for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++)
        if (!is_test(a, edge_source(graph->in[e])))
            return false;
    return graph->first_in[at] < graph->first_in[at + 1]; /* the operand is dropped */
}

/*
 * Whether other instructions of its line lead to `start`: by whatever path, or with `by_value`, by
 * making the value that it takes from the stack, wholly or in the test of a conditional expression:
 * `x = (a if c` / `else b)` comes back to its first line for the store.
 */
static bool is_led_to_by_its_line(struct analysis *a, uint32_t start, bool by_value)
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
            /* `at` still needs the value, or begins one arm of a conditional expression. */
            if (by_value && a->depth[at] < a->depth[start] && !ends_a_test(a, pred))
                continue;
            if (line_of(a, pred) == line && at == start)
                continue; /* no event on this way */
            if (line_of(a, pred) == line && pred != start &&
                (by_value || instr_falls_through(&a->code->instrs[pred])))
                return true;
            visit(a, pred, &n_queued);
        }
    }
    return false;
}

/*
 * Marks what begins nothing even if nothing else is on the line: what is done for a `with` block
 * once its managers are there, while its exit is on the stack (the items may stand on lines of
 * their own), and what ends an `await` into which an exception was thrown.
 */
static void find_continuations(struct analysis *a, const uint32_t *line, uint32_t n)
{
    const struct instr_list *code = a->code;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t start = UINT32_MAX, n_queued = 0;
        int32_t depth = 0; /* with the exit */
        a->never_begins[line[i]] |= code->instrs[line[i]].goes_on && is_location(a, line[i]);
        for (uint32_t g = 0; g < code->n_guards && code->instrs[line[i]].leaves_with; g++)
            if (code->guards[g].target + 1 == line[i] && code->guards[g].start < start) {
                start = code->guards[g].start;
                depth = code->guards[g].depth;
            }
        if (start == UINT32_MAX || a->steps_left < 0)
            continue;
        a->stamp++;
        visit(a, start, &n_queued);
        spread(a, depth - 1, n_queued);
        for (uint32_t k = 0; k < n; k++)
            a->never_begins[line[k]] |= a->seen[line[k]] == a->stamp && is_location(a, line[k]);
    }
}

/*
 * Marks the return of a lambda whose body begins on a later line: its line, which is that of the
 * function, has nothing else.
 */
static void find_bare_return(struct analysis *a, const uint32_t *line, uint32_t n)
{
    const struct instr *instrs = a->code->instrs;
    bool is_first_line = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct instr *instr = &instrs[line[i]];
        if (!instr->uncounted && (instr->flow != FLOW_END || instr->effect_next >= 0))
            return;
        is_first_line |= instr->resumes;
    }
    for (uint32_t i = 0; i < n && is_first_line; i++)
        a->never_begins[line[i]] = is_location(a, line[i]);
}

/* Does for a line what its values in progress do not tell. */
static void skip_completions(struct analysis *a, const uint32_t *line, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct instr *instr = &a->code->instrs[line[i]];
        if (a->steps_left < 0 || !is_location(a, line[i]) || a->skips[line[i]] ||
            is_iteration(a, line[i]))
            continue;
        a->skips[line[i]] = (instr->takes && is_led_to_by_its_line(a, line[i], true)) ||
                            ((instr->flow == FLOW_END || instr->flow == FLOW_JUMP) &&
                             is_led_to_by_its_line(a, line[i], false));
    }
}

static void analyse_line(struct analysis *a, const uint32_t *line, uint32_t n)
{
    uint32_t n_locations = 0, n_skipped = 0;
    int32_t deepest_done = UNREACHED;
    find_continuations(a, line, n);
    find_bare_return(a, line, n);
    for (uint32_t i = 0; i < n; i++)
        n_locations += is_location(a, line[i]) && !a->never_begins[line[i]];
    for (;;) { /* each depth that the line begins something at, from the outside in */
        int32_t base = INT32_MAX;
        for (uint32_t i = 0; i < n; i++)
            if (base_of(a, line[i]) > deepest_done && base_of(a, line[i]) < base)
                base = base_of(a, line[i]);
        if (base == INT32_MAX || a->steps_left < 0 || n_locations < 2)
            break;
        skip_in_progress(a, line, n, base);
        deepest_done = base;
    }
    if (n_locations >= 2)
        skip_completions(a, line, n);
    for (uint32_t i = 0; i < n; i++)
        n_skipped += a->skips[line[i]] && !a->never_begins[line[i]];
    for (uint32_t i = 0; i < n; i++) {
        if (n_skipped == n_locations) /* no beginning was found: believe the events */
            a->skips[line[i]] = 0;
        a->skips[line[i]] |= a->never_begins[line[i]];
    }
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

static void mark_unit(uint8_t *bitmap, uint32_t unit)
{
    bitmap[unit >> 3] |= (uint8_t)(1u << (unit & 7));
}

/* Whether an event may be sent although the line has not changed: where caches end at a target. */
static bool may_repeat(const struct analysis *a, uint32_t at)
{
    const struct flow_graph *graph = &a->graph;
    const struct instr *instrs = a->code->instrs;
    bool comes_from_elsewhere = false;
    if (!a->code->repeats_lines || at == 0 || !is_location(a, at) || graph->is_handler[at] ||
        line_of(a, at - 1) != line_of(a, at) || instrs[at - 1].flow != FLOW_NEXT ||
        instrs[at - 1].own_unit + 1 >= instrs[at].unit)
        return false;
    for (uint32_t e = graph->first_in[at]; e < graph->first_in[at + 1]; e++) {
        const struct instr *before = &instrs[edge_source(graph->in[e])];
        if (before->line == 0 || before->resumes)
            return false;
        comes_from_elsewhere |= before->line != line_of(a, at);
    }
    return comes_from_elsewhere;
}

void hit_rules_free(struct hit_rules *rules)
{
    free(rules->skip);
    free(rules->repeat);
    free(rules->credits);
    *rules = (struct hit_rules){0};
}

int statements_find(const struct instr_list *code, struct hit_rules *rules)
{
    struct analysis a = {.code = code, .rules = rules};
    int n_skipped = -1;
    *rules = (struct hit_rules){.skip = calloc(code->n_units / 8 + 1, 1),
                                .repeat = calloc(code->n_units / 8 + 1, 1)};
    if (rules->skip == NULL || rules->repeat == NULL) {
        hit_rules_free(rules);
        return -1;
    }
    if (flow_graph_build(&a.graph, code) < 0 || analysis_alloc(&a, code->n_instrs) < 0)
        goto done;
    a.steps_left = (int64_t)STEPS_PER_INSTR * code->n_instrs;
    find_loops(&a);
    find_depths(&a);
    analyse_lines(&a);
    if (comprehensions_settle(&a) < 0 || loop_headers_credit(&a) < 0)
        goto done;
    n_skipped = 0;
    for (uint32_t i = 0; i < code->n_instrs; i++) {
        if (a.skips[i])
            mark_unit(rules->skip, code->instrs[i].unit);
        else if (may_repeat(&a, i))
            mark_unit(rules->repeat, code->instrs[i].unit);
        n_skipped += a.skips[i];
    }
done:
    analysis_free(&a);
    if (n_skipped < 0)
        hit_rules_free(rules);
    return n_skipped;
}
