/* slow_code.c - see slow_code.h. */
#include "lines/slow_code.h"

#include "format/record.h" /* enum line_regime */
#include "lines/account.h"
#include "lines/sample.h"

/* Events may cost one part in so many of the code's time: samples take as much. */
#define CLOCK_SHARE 32
/*
 * What is longer, 65 us and more, counts as this much. It may be a wait for the GIL or for a
 * processor, which comes now and then to any line and makes it no slower.
 */
#define LONGEST_BUCKET 16u

/* So far, in ticks; costs and debts have PROBE_SHIFT binary places. */
struct slow_sums {
    uint64_t cost; /* of its events */
    int64_t taken; /* its own time, and that of what it calls but for itself */
    bool calls_hot;
};

static double ticks_of_ns(double ns)
{
    return ns * (1ull << NS_SCALE_SHIFT) / (double)(probe_ns_scale ? probe_ns_scale : 1);
}

/* A hit in a bucket takes so many ns, as if none were very long. */
static double ns_of_bucket(unsigned bucket)
{
    return 1.5 * (double)(1ull << (bucket < LONGEST_BUCKET ? bucket : LONGEST_BUCKET));
}

static int64_t least_of(int64_t ticks, double ns)
{
    double most = ticks_of_ns(ns);
    return (double)ticks < most ? ticks : (int64_t)most;
}

static void add_table(struct slow_sums *sums, const struct code_table *table)
{
    sums->cost += table->searched;
    for (uint32_t i = 0; i < table->code->n_lines; i++) {
        const struct line_cell *cell = &table->cells[i];
        double ns = 0;
        for (unsigned k = 0; k < LINE_BUCKETS; k++)
            ns += (double)cell->histogram[k] * ns_of_bucket(k);
        sums->cost += cell->deliveries * probe_costs[cell->probe].whole;
        sums->taken += least_of(cell->exclusive, ns);
    }
}

/* Who calls it pays two events more, and what is hot by now shows on no shadow stack. */
static void add_calls(struct slow_sums *sums, const struct lines_thread *thread,
                      const struct lines_code *code)
{
    uint64_t cost = probe_costs[PROBE_START].whole + probe_costs[PROBE_LEAVE].whole;
    for (const struct call_edge *edge = thread->edges; edge != NULL; edge = edge->next) {
        if (edge->callee->code == code) {
            sums->cost += edge->calls * cost;
        } else if (edge->caller_table != NULL && edge->caller_table->code == code) {
            sums->calls_hot |= edge->callee->code->regime == REGIME_HOT;
            /* A generator is called once and taken up often. */
            sums->taken += least_of(edge->inclusive, (double)(edge->calls + edge->callee->yields) *
                                                         ns_of_bucket(LONGEST_BUCKET));
        }
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
    int64_t taken;
    for (const struct lines_thread *thread = lines_threads; thread != NULL; thread = thread->next) {
        if (code->id < thread->n_tables && thread->tables[code->id] != NULL)
            add_table(&sums, thread->tables[code->id]);
        add_calls(&sums, thread, code);
    }
    if (sums.cost < before.cost)
        before = (struct slow_mark){0}; /* a forked child counts for itself */
    code->slow_mark = (struct slow_mark){sums.cost, sums.taken};
    cost = (sums.cost - before.cost) >> PROBE_SHIFT;
    taken = sums.taken - before.taken;
    return taken > 0 && cost * CLOCK_SHARE <= (uint64_t)taken && !sums.calls_hot &&
           !covers_samples(code);
}
