/* sample_totals.c - see sample_totals.h. */
#include "lines/sample_totals.h"

#include "lines/sample.h"
#include "lines/sample_error.h"
#include "lines/sample_thread.h"

#define GAP_UNKNOWN_NS 1000000u /* as long as gaps get (sample_meter.c) */

static const struct sample_tally *first_tally(void)
{
    return __atomic_load_n(&sample_tallies, __ATOMIC_ACQUIRE);
}

uint32_t sample_count_edges(void)
{
    uint32_t n = 0;
    for (const struct sample_tally *tally = first_tally(); tally != NULL; tally = tally->next)
        n += __atomic_load_n(&tally->n_edges, __ATOMIC_ACQUIRE);
    return n;
}

/* What a cost is inside the evaluation loop may be nothing or twice as much, everywhere alike. */
static double loop_square(uint64_t lost)
{
    double error = (double)lost * SAMPLE_LOOP_SHARE;
    return error * error;
}

static void add_line(struct code_total *code, struct line_total *line,
                     const struct sample_line *sampled)
{
    int64_t exclusive = (int64_t)(sampled->exclusive - sampled->covered);
    double squares = sampled->exclusive_squares + sampled->covered_squares +
                     sampled->covered_lost_squares + loop_square(sampled->lost);
    line->exclusive += exclusive;
    line->inclusive += (int64_t)sampled->inclusive;
    line->samples += sampled->samples;
    line->exclusive_squares += squares;
    line->inclusive_squares += sampled->inclusive_squares + sampled->covered_lost_squares +
                               loop_square(sampled->lost_inclusive);
    line->ran_hot |= sampled->inclusive != 0;
    line->calls_hot |= sampled->covered != 0 || sampled->covered_lost != 0;
    code->exclusive += exclusive;
    code->discarded += sampled->discarded;
    code->exclusive_squares += squares;
}

static void add_table(struct account_totals *totals, const struct sample_table *table)
{
    struct code_total *code = &totals->codes[table->code->id - 1];
    code->inclusive += (int64_t)table->inclusive;
    code->samples += table->samples;
    code->ran_hot |= table->inclusive != 0;
    code->inclusive_squares += table->inclusive_squares + loop_square(table->lost_inclusive);
    for (uint32_t i = 0; i < table->code->n_lines; i++)
        add_line(code, &code->lines[i], &table->lines[i]);
}

static const struct sample_table *table_of(const struct sample_tally *tally, uint32_t id)
{
    struct sample_table *const *tables;
    if (id >= __atomic_load_n(&tally->n_tables, __ATOMIC_ACQUIRE))
        return NULL;
    tables = __atomic_load_n(&tally->tables, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&tables[id], __ATOMIC_ACQUIRE);
}

/* Adds the edges of a tally; returns how many more there is room for. */
static uint32_t add_edges(struct account_totals *totals, const struct sample_tally *tally,
                          uint32_t room)
{
    uint32_t n_slots = __atomic_load_n(&tally->n_edge_slots, __ATOMIC_ACQUIRE);
    const struct sample_edge *edges = __atomic_load_n(&tally->edges, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n_slots && room != 0; i++) {
        const struct sample_edge *edge = &edges[i];
        if (edge->callee == 0 || edge->callee > totals->n_codes || edge->caller > totals->n_codes)
            continue;
        totals->edges[totals->n_edges] = (struct call_total){
            .caller = edge->caller,
            .line = edge->line,
            .callee = edge->callee,
            .inclusive = (int64_t)edge->inclusive,
            .exclusive = (int64_t)edge->exclusive,
        };
        totals->edges[totals->n_edges++].exclusive -= (int64_t)edge->covered;
        room--;
    }
    return room;
}

/* ---- calls of hot code ---------------------------------------------------------------------- */

/* Calls of a code object that no edge has yet. */
static uint64_t calls_left(const struct account_totals *totals, uint32_t id)
{
    uint64_t left = totals->codes[id - 1].calls;
    for (uint32_t i = 0; i < totals->n_edges; i++)
        if (totals->edges[i].callee == id)
            left = left > totals->edges[i].calls ? left - totals->edges[i].calls : 0;
    return left;
}

/* By what calls of hot code are divided. */
static uint64_t weight_of(const struct call_total *edge, bool is_sampled)
{
    if (is_sampled)
        return edge->inclusive > 0 ? (uint64_t)edge->inclusive : 0;
    return edge->calls;
}

/* Divides calls among the edges [first, end) to a code object; returns what is left of them. */
static uint64_t divide_calls(struct account_totals *totals, uint32_t first, uint32_t end,
                             uint32_t id, uint64_t left, bool is_sampled)
{
    uint64_t weights = 0;
    for (uint32_t i = first; i < end; i++)
        if (totals->edges[i].callee == id)
            weights += weight_of(&totals->edges[i], is_sampled);
    for (uint32_t i = first; i < end && weights > 0; i++) {
        struct call_total *edge = &totals->edges[i];
        uint64_t weight, calls;
        if (edge->callee != id)
            continue;
        weight = weight_of(edge, is_sampled);
        calls = (uint64_t)((double)left * (double)weight / (double)weights + 0.5);
        calls = calls > left ? left : calls;
        edge->calls += calls;
        left -= calls;
        weights -= weight;
    }
    return left;
}

/*
 * How often hot code was called is known, but not from where: its calls are divided among its
 * callers by time, which is exact with one caller. Where no sample saw a call, among those that the
 * clock saw.
 */
static void give_calls(struct account_totals *totals, uint32_t first_sampled, uint32_t id)
{
    uint32_t end = totals->n_edges;
    uint64_t left = calls_left(totals, id);
    left = divide_calls(totals, first_sampled, end, id, left, true);
    left = divide_calls(totals, 0, first_sampled, id, left, false);
    if (left != 0)
        totals->edges[totals->n_edges++] = (struct call_total){.callee = id, .calls = left};
}

/* What a line calls may have run for a while between two samples. */
static void mark_callers(struct account_totals *totals)
{
    for (uint32_t i = 0; i < totals->n_edges; i++) {
        const struct call_total *edge = &totals->edges[i];
        struct code_total *caller;
        if (edge->caller == 0 || edge->callee == 0 || !totals->codes[edge->callee - 1].ran_hot)
            continue;
        caller = &totals->codes[edge->caller - 1];
        caller->lines[edge->line - (uint32_t)caller->code->first_line].calls_hot = true;
    }
}

static void add_errors_of_code(struct code_total *code, double gap)
{
    bool calls_hot = false;
    for (uint32_t i = 0; i < code->code->n_lines; i++) {
        struct line_total *line = &code->lines[i];
        calls_hot |= line->calls_hot;
        line->exclusive_error = sample_add_error(line->exclusive_error, line->exclusive_squares,
                                                 line->ran_hot || line->calls_hot ? gap : 0);
        /* That of a cold line is the clock's. */
        line->inclusive_error = sample_add_error(line->inclusive_error, line->inclusive_squares,
                                                 line->ran_hot ? gap : 0);
    }
    code->exclusive_error = sample_add_error(code->exclusive_error, code->exclusive_squares,
                                             code->ran_hot || calls_hot ? gap : 0);
    code->inclusive_error =
        sample_add_error(code->inclusive_error, code->inclusive_squares, code->ran_hot ? gap : 0);
}

/* Adds the times since the last sample of each thread, which no sample stands for yet. */
static void add_open_gaps(double *gaps, double *gap_squares)
{
    for (const struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        uint64_t cpu_ns = 0, last_ns = thread->meter.cpu_ns;
        double gap;
        if (__atomic_load_n(&thread->is_unheard, __ATOMIC_RELAXED))
            last_ns = thread->look.cpu_ns;
        if (__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE) == THREAD_ALIVE)
            cpu_ns = sample_cpu_ns(thread->tid);
        if (last_ns == 0 || cpu_ns <= last_ns) /* 0: sampling rests */
            continue;
        gap = (double)sample_ticks(sample_stretch(thread, cpu_ns - last_ns));
        *gaps += gap;
        *gap_squares += gap * gap;
    }
}

/* How long the time is between two samples, where a moment of the program lies. */
static double find_gap(void)
{
    double gaps = 0, squares = 0;
    for (const struct sample_tally *tally = first_tally(); tally != NULL; tally = tally->next) {
        gaps += tally->gaps;
        squares += tally->gap_squares;
    }
    add_open_gaps(&gaps, &squares);
    return gaps > 0 ? squares / gaps : (double)sample_ticks(GAP_UNKNOWN_NS);
}

static void add_errors(struct account_totals *totals)
{
    double gap = find_gap();
    mark_callers(totals);
    for (uint32_t id = 1; id <= totals->n_codes; id++)
        add_errors_of_code(&totals->codes[id - 1], gap);
}

void sample_add(struct account_totals *totals, uint32_t n_edges)
{
    uint32_t first_sampled = totals->n_edges;
    for (const struct sample_tally *tally = first_tally(); tally != NULL; tally = tally->next) {
        uint32_t n_tables = __atomic_load_n(&tally->n_tables, __ATOMIC_ACQUIRE);
        for (uint32_t id = 1; id < n_tables && id <= totals->n_codes; id++) {
            const struct sample_table *table = table_of(tally, id);
            if (table != NULL)
                add_table(totals, table);
        }
        n_edges = add_edges(totals, tally, n_edges);
    }
    for (uint32_t id = 1; id <= totals->n_codes; id++)
        if (totals->codes[id - 1].code->hot != NULL)
            give_calls(totals, first_sampled, id);
    add_errors(totals);
}
