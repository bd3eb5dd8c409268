/* slow_code.c - see slow_code.h. */
#include "lines/slow_code.h"

#include "format/record.h" /* enum line_regime */
#include "lines/account.h"
#include "lines/sample.h"

/* Events may cost one part in so many of the code's own time: samples take as much. */
#define CLOCK_SHARE 32
/*
 * What is longer, 65 us and more, counts as this much. It may be a wait for the GIL or for a
 * processor, which comes now and then to any line and makes it no slower.
 */
#define LONGEST_BUCKET 16u

/* So far, in ticks; costs and debts have PROBE_SHIFT binary places. */
struct slow_sums {
    uint64_t cost; /* of its events */
    int64_t own;
    int64_t inclusive;
    bool calls_hot;
};

/* The time of a line's hits, callees included, as if none were very long. */
static int64_t short_of(const struct line_cell *cell)
{
    double ns = 0;
    for (unsigned i = 0; i < LINE_BUCKETS; i++) {
        unsigned bucket = i < LONGEST_BUCKET ? i : LONGEST_BUCKET;
        ns += (double)cell->histogram[i] * 1.5 * (double)(1ull << bucket);
    }
    return (int64_t)(ns * (1ull << NS_SCALE_SHIFT) / (double)(probe_ns_scale ? probe_ns_scale : 1));
}

static void add_table(struct slow_sums *sums, const struct code_table *table)
{
    for (uint32_t i = 0; i < table->code->n_lines; i++) {
        const struct line_cell *cell = &table->cells[i];
        int64_t most = short_of(cell);
        sums->cost += cell->deliveries * probe_costs[cell->probe].whole;
        sums->own += cell->exclusive < most ? cell->exclusive : most;
        sums->inclusive += cell->inclusive < most ? cell->inclusive : most;
    }
}

/* Who calls it pays two events more, and what is hot by now shows on no shadow stack. */
static void add_calls(struct slow_sums *sums, const struct lines_thread *thread,
                      const struct lines_code *code)
{
    uint64_t cost = probe_costs[PROBE_START].whole + probe_costs[PROBE_LEAVE].whole;
    for (const struct call_edge *edge = thread->edges; edge != NULL; edge = edge->next) {
        if (edge->callee->code == code)
            sums->cost += edge->calls * cost;
        else if (edge->caller_table != NULL && edge->caller_table->code == code)
            sums->calls_hot |= edge->callee->code->regime == REGIME_HOT;
    }
}

/* Calls that began when the callee was hot already are known to samples only. */
static bool covers_samples(const struct lines_code *code)
{
    for (const struct sample_tally *tally = __atomic_load_n(&sample_tallies, __ATOMIC_ACQUIRE);
         tally != NULL; tally = tally->next) {
        const struct sample_table *table;
        if (code->id >= __atomic_load_n(&tally->n_tables, __ATOMIC_ACQUIRE))
            continue;
        table = __atomic_load_n(&tally->tables, __ATOMIC_ACQUIRE)[code->id];
        for (uint32_t i = 0; table != NULL && i < code->n_lines; i++)
            if (table->lines[i].covered != 0 || table->lines[i].covered_lost != 0)
                return true;
    }
    return false;
}

bool slow_code_suits_clock(struct lines_code *code)
{
    struct slow_sums sums = {0};
    struct slow_mark before = code->slow_mark;
    uint64_t cost;
    int64_t own, inclusive;
    for (const struct lines_thread *thread = lines_threads; thread != NULL; thread = thread->next) {
        if (code->id < thread->n_tables && thread->tables[code->id] != NULL)
            add_table(&sums, thread->tables[code->id]);
        add_calls(&sums, thread, code);
    }
    if (sums.cost < before.cost)
        before = (struct slow_mark){0}; /* a forked child counts for itself */
    code->slow_mark = (struct slow_mark){sums.cost, sums.own, sums.inclusive};
    cost = (sums.cost - before.cost) >> PROBE_SHIFT;
    own = sums.own - before.own;
    inclusive = sums.inclusive - before.inclusive;
    return own > 0 && cost * CLOCK_SHARE <= (uint64_t)own && own >= inclusive / 2 &&
           !sums.calls_hot && !covers_samples(code);
}
