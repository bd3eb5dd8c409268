/* comprehensions.c - see analysis.h. */
#include "lines/analysis.h"

#include <stdlib.h>

/* A loop of a comprehension, outermost first: [fetcher, back] is what runs for each item. */
struct loop {
    uint32_t fetcher;
    uint32_t item;
    uint32_t back;
    uint32_t begin; /* of what is iterated over, or the load of a generator expression's iterator */
    int32_t start_line; /* of the bracket */
    bool is_generator;
};

int analysis_credit(struct analysis *a, uint32_t at, int32_t line)
{
    struct hit_rules *rules = a->rules;
    struct hit_credit *credits =
        realloc(rules->credits, (rules->n_credits + 1) * sizeof *rules->credits);
    if (credits == NULL)
        return -1;
    rules->credits = credits;
    credits[rules->n_credits++] =
        (struct hit_credit){.unit = a->code->instrs[at].unit, .line = line};
    return 0;
}

/* The last way back of the loop whose items are fetched here; the fetcher itself if it has none. */
static uint32_t last_way_back(const struct analysis *a, uint32_t fetcher)
{
    const struct flow_graph *graph = &a->graph;
    uint32_t back = fetcher;
    for (uint32_t e = graph->first_in[fetcher]; e < graph->first_in[fetcher + 1]; e++) {
        uint32_t pred = edge_source(graph->in[e]);
        if (a->code->instrs[pred].closes_loop && pred > back)
            back = pred;
    }
    return back;
}

/* Whether the loop puts items into a result that lies under its iterator. */
static bool collects(const struct analysis *a, const struct loop *loop)
{
    for (uint32_t i = loop->fetcher; i < loop->back; i++) {
        const struct instr *instr = &a->code->instrs[i];
        if (instr->collects != 0 && a->depth[i] + instr->effect_next - (int32_t)instr->collects <
                                        a->depth[loop->fetcher] - 1)
            return true;
    }
    return false;
}

/* The first loop of a comprehension, or of a generator expression, whose items are fetched here. */
static bool find_loop(const struct analysis *a, uint32_t fetcher, struct loop *loop)
{
    const struct instr *instrs = a->code->instrs;
    uint32_t maker = instrs[fetcher].maker, made = maker;
    *loop = (struct loop){.fetcher = fetcher, .item = instrs[fetcher].item};
    loop->back = last_way_back(a, fetcher);
    if (!instrs[fetcher].iterates || instrs[fetcher].flow != FLOW_BRANCH ||
        a->depth[fetcher] == UNREACHED || loop->item >= a->code->n_instrs ||
        line_of(a, loop->item) <= 0 || loop->back == fetcher)
        return false;
    if (maker == fetcher) {
        loop->begin = fetcher - 1;
        loop->start_line = line_of(a, loop->begin);
        loop->is_generator = fetcher >= 2 && instrs[fetcher - 2].resumes;
        return loop->is_generator && loop->start_line > 0;
    }
    while (made < fetcher && !instrs[made].makes)
        made++;
    for (loop->begin = maker; loop->begin > 0 && a->depth[loop->begin] > a->depth[maker] - 1;)
        loop->begin--;
    loop->start_line = line_of(a, made);
    return made < fetcher && line_of(a, loop->begin) > 0 && collects(a, loop);
}

/*
 * Whether all that runs for an item is on the line of the targets, but for the ways back, and what
 * makes and fetches the items of loops inside it.
 */
static bool is_on_one_line(const struct analysis *a, const struct loop *loop)
{
    int32_t line = line_of(a, loop->item);
    for (uint32_t i = loop->item; i <= loop->back; i++) {
        const struct instr *instr = &a->code->instrs[i];
        if (instr->line != 0 && instr->line != line && !instr->closes_loop && !instr->iterates &&
            !instr->silent && !(instr->makes_iterator && instr->line == loop->start_line))
            return false;
    }
    return true;
}

/*
 * The instruction on another line that runs once for each item, behind the targets: execution
 * arrives there by one way. UINT32_MAX if there is none.
 */
static uint32_t find_witness(const struct analysis *a, const struct loop *loop)
{
    const struct flow_graph *graph = &a->graph;
    uint32_t at = loop->item;
    while (at < loop->back && line_of(a, at) == line_of(a, loop->item)) {
        if (a->code->instrs[at].flow != FLOW_NEXT || a->code->instrs[at].suspends)
            return UINT32_MAX;
        at++;
        if (graph->first_in[at + 1] - graph->first_in[at] != 1)
            return UINT32_MAX;
    }
    return line_of(a, at) > 0 && is_location(a, at) ? at : UINT32_MAX;
}

/* Whether the line of the targets has anything else of the loop, so that arrivals mix. */
static bool shares_its_line(const struct analysis *a, const struct loop *loop, uint32_t from)
{
    for (uint32_t i = from; i < loop->back; i++)
        if (line_of(a, i) == line_of(a, loop->item) && !a->code->instrs[i].closes_loop)
            return true;
    return false;
}

/* The line of the targets is hit when the loop begins, and by nothing inside it. */
static int count_beginnings(struct analysis *a, const struct loop *loop)
{
    int32_t line = line_of(a, loop->item);
    a->settled[loop->fetcher] = 1;
    for (uint32_t i = loop->fetcher; i <= loop->back; i++) {
        if (line_of(a, i) == line)
            a->skips[i] = 1;
        a->settled[i] = 1; /* loops inside it, too */
    }
    if (loop->is_generator)
        a->skips[loop->fetcher] = 1; /* there is no value in progress that tells */
    if (line_of(a, loop->begin) != line)
        return analysis_credit(a, loop->begin, line);
    if (is_location(a, loop->begin))
        a->skips[loop->begin] = 0;
    return 0;
}

/*
 * Several loops have their targets on one line: the first one's count. Where items are fetched on
 * another line, the arrivals at the other targets are taken off.
 */
static void skip_inner_targets(struct analysis *a, const struct loop *loop)
{
    for (uint32_t i = loop->item; i < loop->back; i++) {
        uint32_t item = a->code->instrs[i].item;
        if (a->code->instrs[i].iterates && item < loop->back && line_of(a, i) != line_of(a, item) &&
            line_of(a, item) == line_of(a, loop->item)) {
            a->skips[item] = 1;
            a->settled[i] = 1;
        }
    }
}

/*
 * Skips the second of two conditions on one line: between them is the jump of the first one, which
 * has the line of the element since 3.13.
 */
static void skip_further_conditions(struct analysis *a, const struct loop *loop)
{
    const struct flow_graph *graph = &a->graph;
    for (uint32_t at = loop->item; at < loop->back; at++) {
        uint32_t next[2];
        int n = a->code->instrs[at].flow == FLOW_BRANCH && !a->code->instrs[at].iterates &&
                        line_of(a, at) != line_of(a, at - 1)
                    ? edges_out(a->code, at, next)
                    : 0;
        for (int k = 0; k < n; k++) {
            uint32_t to = edge_target(a->code, next[k]);
            if (line_of(a, to) == line_of(a, at - 1) &&
                graph->first_in[to + 1] - graph->first_in[to] == 1)
                a->skips[to] = 1;
        }
    }
}

static int settle(struct analysis *a, const struct loop *loop)
{
    int32_t line = line_of(a, loop->item);
    uint32_t witness;
    skip_further_conditions(a, loop);
    if (line == loop->start_line) {
        if (loop->is_generator && line_of(a, loop->fetcher) != line) {
            a->settled[loop->fetcher] = 1;
            a->skips[loop->fetcher] = 1;
            a->skips[loop->item] = 1;
        }
        return 0;
    }
    if (is_on_one_line(a, loop))
        return count_beginnings(a, loop);
    witness = find_witness(a, loop);
    if (witness == UINT32_MAX || !shares_its_line(a, loop, witness)) {
        skip_inner_targets(a, loop);
        return 0;
    }
    return count_beginnings(a, loop) < 0 ? -1 : analysis_credit(a, witness, line);
}

int comprehensions_settle(struct analysis *a)
{
    struct loop loop;
    for (uint32_t i = 1; i < a->code->n_instrs; i++)
        if (a->code->instrs[i].iterates && !a->settled[i] && find_loop(a, i, &loop) &&
            settle(a, &loop) < 0)
            return -1;
    return 0;
}
