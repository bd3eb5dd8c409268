/* totals.c - account_sum: adds up what all threads counted; see account.h. */
#include "lines/account.h"
#include "lines/line_search.h"
#include "lines/regime.h"
#include "lines/sample_totals.h"

/* How many edges a thread has, from the newest one's number. */
static uint32_t count_edges(const struct lines_thread *thread, const struct call_edge **newest)
{
    *newest = __atomic_load_n(&thread->edges, __ATOMIC_ACQUIRE);
    return *newest == NULL ? 0 : (*newest)->number + 1;
}

static size_t totals_bytes(uint32_t n_codes, uint32_t n_edges)
{
    size_t n_bytes =
        n_codes * sizeof(struct code_total) + (size_t)n_edges * sizeof(struct call_total);
    uint32_t n = 0;
    for (struct lines_code *code = lines_registry.codes; n < n_codes; n++, code = code->next)
        n_bytes += code->n_lines * sizeof(struct line_total);
    return n_bytes + 1; /* mapping nothing is an error */
}

/* Room for so many edges, and one of each code object whose callers nobody saw. */
static int totals_alloc(struct account_totals *totals, uint32_t n_edges)
{
    uint32_t n_codes = __atomic_load_n(&lines_registry.n_codes, __ATOMIC_ACQUIRE);
    struct line_total *lines;
    uint32_t n = 0;
    *totals = (struct account_totals){.n_codes = n_codes};
    totals->n_bytes = totals_bytes(n_codes, n_edges + n_codes);
    totals->codes = pages_alloc(totals->n_bytes);
    if (totals->codes == NULL)
        return -1;
    totals->edges = (struct call_total *)(totals->codes + n_codes);
    lines = (struct line_total *)(totals->edges + n_edges + n_codes);
    for (struct lines_code *code = lines_registry.codes; n < n_codes; n++, code = code->next) {
        totals->codes[n].code = code;
        totals->codes[n].lines = lines;
        lines += code->n_lines;
    }
    return 0;
}

void account_totals_release(struct account_totals *totals)
{
    pages_free(totals->codes, totals->n_bytes);
    if (totals->edge_bytes != 0)
        pages_free(totals->edges, totals->edge_bytes);
    totals->codes = NULL;
}

/* ---- what is over ------------------------------------------------------------------------- */

static void add_extremes(struct line_total *line, const struct line_cell *cell)
{
    int64_t shortest = (int64_t)~cell->shortest_inverted;
    if (cell->shortest_inverted == 0)
        return;
    if (!line->is_timed || shortest < line->min)
        line->min = shortest;
    if ((int64_t)cell->longest > line->max)
        line->max = (int64_t)cell->longest;
    line->is_timed = true;
}

static void add_cell(struct line_total *line, const struct line_cell *cell)
{
    struct line_cell last = {0};
    line->raw_hits += cell->deliveries;
    line->hits += cell->deliveries - cell->returns;
    line->inclusive += cell->inclusive;
    line->exclusive += cell->exclusive;
    line->await += cell->await;
    for (unsigned i = 0; i < LINE_BUCKETS; i++)
        line->histogram[i] += cell->histogram[i];
    add_extremes(line, cell);
    if (cell->pending != 0) { /* nothing came back to it */
        account_add_hit(&last, (int64_t)(cell->pending - 1));
        line->histogram[account_bucket(cell->pending - 1)]++;
        add_extremes(line, &last);
    }
}

static void add_table(struct code_total *total, const struct code_table *table)
{
    total->yields += table->yields;
    total->inclusive += table->inclusive;
    total->debt += table->debt;
    for (uint32_t i = 0; i < table->code->n_lines; i++)
        add_cell(&total->lines[i], &table->cells[i]);
}

static void add_edge(struct account_totals *totals, struct call_total *total,
                     const struct call_edge *edge)
{
    const struct code_table *caller = edge->caller_table;
    if (edge->callee->code->id > totals->n_codes)
        return; /* registered after the snapshot began */
    if (caller != NULL && caller->code->id <= totals->n_codes) {
        total->caller = caller->code->id;
        total->line = (uint32_t)(caller->code->first_line + (edge->caller - caller->cells));
    }
    total->callee = edge->callee->code->id;
    total->calls = edge->calls;
    total->inclusive = edge->inclusive;
    total->exclusive = edge->exclusive;
    totals->codes[total->callee - 1].calls += edge->calls;
}

/* ---- what is running ---------------------------------------------------------------------- */

/* A frame whose time is not in the tables yet, from the outermost inwards, as with recursion. */
static void add_running_line(struct code_total *total, const struct lines_thread *thread,
                             const struct lines_frame *frame, uint64_t now)
{
    uintptr_t index = (uintptr_t)(frame->line - frame->cells);
    struct line_total *line;
    if (index >= total->code->n_lines)
        return; /* the thread runs on, and has changed the frame meanwhile */
    line = &total->lines[index];
    if (line->mark != thread->index)
        line->inclusive += (int64_t)(now - frame->line_start);
    line->mark = thread->index;
    if (frame == thread->top)
        line->exclusive += (int64_t)(now - thread->last);
}

static void add_running_edge(struct call_total *edge, const struct lines_thread *thread,
                             const struct lines_frame *frame, uint64_t callee_start, uint64_t now)
{
    if (edge->mark != thread->index)
        edge->inclusive += (int64_t)(now - frame->start);
    edge->mark = thread->index;
    edge->exclusive += (int64_t)(callee_start - frame->start) - frame->callees;
}

/* When the next frame above that has a line began; now if there is none. */
static uint64_t start_above(const struct lines_thread *thread, const struct lines_frame *frame,
                            uint64_t now)
{
    while (frame != thread->top) {
        frame = frame->above;
        if (frame->start != 0)
            return frame->start;
    }
    return now;
}

static void add_running(struct account_totals *totals, struct call_total *edges, uint32_t n_edges,
                        const struct lines_thread *thread, uint64_t now)
{
    const struct lines_frame *top = thread->top;
    const struct lines_frame *frame = thread->bottom.above;
    while (top != &thread->bottom && frame != NULL) {
        struct code_total *total;
        if (frame->table->code->id > totals->n_codes)
            break; /* registered after the snapshot began */
        total = &totals->codes[frame->table->code->id - 1];
        if (frame->start != 0) {
            if (total->mark != thread->index) {
                total->inclusive += (int64_t)(now - frame->start);
                total->debt += thread->debt - frame->debt;
            }
            total->mark = thread->index;
            add_running_line(total, thread, frame, now);
            if (frame->edge->number < n_edges)
                add_running_edge(&edges[frame->edge->number], thread, frame,
                                 start_above(thread, frame, now), now);
        }
        if (frame == top)
            break;
        frame = frame->above;
    }
}

/* ---- corrections -------------------------------------------------------------------------- */

/* Lines that take next to nothing are shown what their events cost more than others. */
static void correct_light_lines(struct code_total *code)
{
    for (uint32_t i = 0; i < code->code->n_lines; i++) {
        struct line_total *line = &code->lines[i];
        double seen = line->raw_hits == 0 ? 0 : (double)line->exclusive / (double)line->raw_hits;
        int64_t less = (int64_t)((seen - clock_without_overlap(seen)) * (double)line->raw_hits);
        if (less > line->exclusive)
            less = line->exclusive;
        if (less <= 0)
            continue;
        line->exclusive -= less;
        line->inclusive -= less;
        code->inclusive -= less;
    }
}

/* ---- errors ------------------------------------------------------------------------------- */

/*
 * The costs that were taken out are the same for each event, so their errors do not average out:
 * a line's error grows with its events. See docs/internals/line-accounting.md.
 */
static void add_errors(struct account_totals *totals)
{
    for (uint32_t i = 0; i < totals->n_edges; i++) {
        const struct call_total *edge = &totals->edges[i];
        const struct code_total *callee = &totals->codes[edge->callee - 1];
        struct line_total *line;
        if (edge->caller == 0 || edge->callee == 0)
            continue;
        line = &totals->codes[edge->caller - 1]
                    .lines[edge->line - (uint32_t)totals->codes[edge->caller - 1].code->first_line];
        line->exclusive_error += clock_error_ticks(PROBE_START, edge->calls);
        if (callee->calls != 0)
            line->inclusive_error += (uint64_t)(clock_debt_error_ticks(callee->debt) *
                                                (double)edge->calls / (double)callee->calls);
    }
    for (uint32_t i = 0; i < totals->n_codes; i++) {
        struct code_total *code = &totals->codes[i];
        correct_light_lines(code);
        for (uint32_t k = 0; k < code->code->n_lines; k++) {
            struct line_total *line = &code->lines[k];
            line->exclusive_error += clock_error_ticks(PROBE_LINE, line->raw_hits) +
                                     line_search_error_ticks(code->code, k, line->raw_hits);
            line->inclusive_error += line->exclusive_error;
            code->exclusive += line->exclusive;
            code->exclusive_error += line->exclusive_error;
        }
        code->inclusive_error += (uint64_t)clock_debt_error_ticks(code->debt);
    }
}

/* ---- all together ------------------------------------------------------------------------- */

static void add_thread(struct account_totals *totals, const struct lines_thread *thread,
                       uint32_t n_edges, const struct call_edge *newest, uint64_t raw)
{
    struct call_total *edges = totals->edges + totals->n_edges;
    uint32_t n_tables = __atomic_load_n(&thread->n_tables, __ATOMIC_ACQUIRE);
    for (uint32_t id = 1; id < n_tables && id <= totals->n_codes; id++) {
        const struct code_table *table = __atomic_load_n(
            &__atomic_load_n(&thread->tables, __ATOMIC_ACQUIRE)[id], __ATOMIC_ACQUIRE);
        if (table != NULL)
            add_table(&totals->codes[id - 1], table);
    }
    for (const struct call_edge *edge = newest; edge != NULL; edge = edge->next)
        if (edge->number < n_edges)
            add_edge(totals, &edges[edge->number], edge);
    totals->n_edges += n_edges;
    add_running(totals, edges, n_edges, thread, clock_virtual(thread->debt, raw));
}

int account_sum(struct account_totals *totals, uint64_t raw)
{
    const struct lines_thread *first = __atomic_load_n(&lines_threads, __ATOMIC_ACQUIRE);
    const struct call_edge *newest;
    uint32_t n_edges = 0, n_sampled = sample_count_edges();
    for (const struct lines_thread *thread = first; thread != NULL; thread = thread->next)
        n_edges += count_edges(thread, &newest);
    if (totals_alloc(totals, n_edges + n_sampled) < 0)
        return -1;
    for (const struct lines_thread *thread = first; thread != NULL; thread = thread->next) {
        uint32_t n = count_edges(thread, &newest);
        /* Others may go on counting: there is room for what was there at the first look. */
        if (n > n_edges - totals->n_edges)
            n = n_edges - totals->n_edges;
        add_thread(totals, thread, n, newest, raw);
    }
    add_errors(totals);
    if (regime_add(totals) < 0) {
        account_totals_release(totals);
        return -1;
    }
    sample_add(totals, n_sampled);
    return 0;
}
