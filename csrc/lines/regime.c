/* regime.c - see regime.h. */
#include "lines/regime.h"

#include <stdlib.h>
#include <string.h>

/* After how many LINE events code would be hot where it may not be: it is told why it is not. */
#define USUAL_EVENTS 2000u
/* Every so many events of a line, a LINE event asks whether its code is due. */
#define ASK_EVERY 256u
/* Suspensions that take so many times what timing one costs are timed in hot code too. */
#define SUSPENSION_COSTS 20u
#define LINES_PER_SUSPENSION 50u /* and so are those that are rare */

struct counters_table regime_counters;
struct hot_code *regime_codes;
uint64_t regime_ask_mask = UINT64_MAX;
void (*regime_walk)(regime_visit_fn visit, void *context);

static uint64_t events_until_hot = USUAL_EVENTS;
static uint8_t reason_of_all; /* enum cold_reason: that nothing is hot */
static uint32_t n_hot_codes;

int regime_allow(uint64_t n_events)
{
    if (counters_init(&regime_counters) < 0)
        return -1;
    events_until_hot = n_events;
    regime_ask_mask = n_events < ASK_EVERY ? 0 : ASK_EVERY - 1;
    return 0;
}

void regime_forbid(enum cold_reason reason)
{
    regime_ask_mask = UINT64_MAX;
    reason_of_all = (uint8_t)reason;
}

/* ---- when ----------------------------------------------------------------------------------- */

static const struct code_table *table_of(const struct lines_thread *thread,
                                         const struct lines_code *code)
{
    return code->id < thread->n_tables ? thread->tables[code->id] : NULL;
}

/* Adds up the LINE events of all threads, by line too if `by_line` is not NULL. */
static uint64_t count_events(const struct lines_code *code, uint64_t *by_line)
{
    uint64_t n_events = 0;
    for (const struct lines_thread *thread = lines_threads; thread != NULL; thread = thread->next) {
        const struct code_table *table = table_of(thread, code);
        if (table == NULL)
            continue;
        for (uint32_t i = 0; i < code->n_lines; i++) {
            n_events += table->cells[i].deliveries;
            if (by_line != NULL)
                by_line[i] += table->cells[i].deliveries;
        }
    }
    return n_events;
}

bool regime_is_due(const struct lines_code *code)
{
    uint64_t due = code->events_until_hot != 0 ? code->events_until_hot : events_until_hot;
    return code->events_until_hot != UINT64_MAX &&
           (line_search_was_dear(code) || count_events(code, NULL) >= due);
}

void regime_postpone(struct lines_code *code)
{
    uint64_t n_events = count_events(code, NULL), n_more = n_events / 4;
    code->reason = COLD_SLOW;
    code->events_until_hot = n_events + (n_more > USUAL_EVENTS ? n_more : USUAL_EVENTS);
}

void regime_refuse(struct lines_code *code, enum cold_reason reason, bool is_final)
{
    code->reason = (uint8_t)reason;
    code->events_until_hot = is_final ? UINT64_MAX : 2 * count_events(code, NULL);
}

/* ---- what is hot ---------------------------------------------------------------------------- */

/* How often each instruction may be expected to run, from the LINE events of its line. */
static uint64_t *expected_counts(const struct lines_code *code, const struct instr_list *list)
{
    uint64_t *by_line = calloc(code->n_lines, sizeof *by_line);
    uint64_t *weights = calloc((size_t)list->n_instrs + 1, sizeof *weights);
    if (by_line != NULL && weights != NULL) {
        count_events(code, by_line);
        for (uint32_t i = 0; i < list->n_instrs; i++) {
            uint32_t line = (uint32_t)(list->instrs[i].line - code->first_line);
            weights[i] =
                list->instrs[i].line > 0 && line < code->n_lines ? by_line[line] : UINT64_MAX;
        }
    }
    if (by_line == NULL) {
        free(weights);
        weights = NULL;
    }
    free(by_line);
    return weights;
}

/*
 * Whether timing the suspensions of a generator would cost more than it is worth, by those seen so
 * far.
 */
static bool has_short_suspensions(const struct lines_code *code)
{
    uint64_t n_yields = 0, n_events = count_events(code, NULL);
    uint64_t cost =
        (probe_costs[PROBE_YIELD].whole + probe_costs[PROBE_RESUME].whole) >> PROBE_SHIFT;
    int64_t awaited = 0;
    for (const struct lines_thread *thread = lines_threads; thread != NULL; thread = thread->next) {
        const struct code_table *table = table_of(thread, code);
        n_yields += table == NULL ? 0 : table->yields;
        for (uint32_t i = 0; table != NULL && i < code->n_lines; i++)
            awaited += table->cells[i].await;
    }
    return n_yields > n_events / LINES_PER_SUSPENSION &&
           awaited < (int64_t)(n_yields * cost * SUSPENSION_COSTS);
}

/* Where a generator is suspended; what makes it comes before its entry. */
static bool is_yield(const struct instr_list *list, uint32_t at)
{
    if (!list->instrs[at].suspends)
        return false;
    while (at > 0 && !list->instrs[at].enters)
        at--;
    return list->instrs[at].enters;
}

static enum cold_reason keep_yields(struct hot_code *hot, const struct instr_list *list)
{
    const struct block_plan *plan = &hot->counters->plan;
    uint32_t *yields = arena_alloc(&regime_counters.arena, (list->n_instrs + 1) * sizeof *yields);
    if (yields == NULL)
        return COLD_MEMORY;
    for (uint32_t i = 0; i < list->n_instrs; i++)
        if (is_yield(list, i) && blocks_knows(plan, i))
            yields[hot->n_yields++] = i;
    hot->yields = yields;
    hot->has_short_suspensions = true;
    return COLD_UNASKED;
}

/* Whether all that the terms name is going to be known, and the calls. */
static bool is_countable(const struct block_plan *plan, const struct hit_term *terms, int n_terms)
{
    if (plan->entry == NO_INSTR || !blocks_knows(plan, plan->entry))
        return false;
    for (int i = 0; i < n_terms; i++)
        if (!blocks_knows(plan, terms[i].instr))
            return false;
    return true;
}

/* Marks the instructions that the terms name, and suspensions; owned by the caller. */
static uint8_t *needed_counts(const struct instr_list *list, const struct hit_term *terms,
                              int n_terms, bool needs_yields)
{
    uint8_t *needed = calloc((size_t)list->n_instrs + 1, 1);
    for (int i = 0; needed != NULL && i < n_terms; i++)
        needed[terms[i].instr] = 1;
    for (uint32_t i = 0; needed != NULL && needs_yields && i < list->n_instrs; i++)
        needed[i] |= is_yield(list, i);
    return needed;
}

/* `yields_in`: where the suspensions are to be counted; NULL: they are timed. */
static enum cold_reason add_hot_code(struct lines_code *code, struct counters *counters,
                                     const struct hit_term *terms, int n_terms,
                                     const struct instr_list *yields_in)
{
    struct hot_code *hot = arena_alloc(&regime_counters.arena, sizeof *hot);
    struct hit_term *copy =
        arena_alloc(&regime_counters.arena, ((size_t)n_terms + 1) * sizeof *copy);
    if (hot == NULL || copy == NULL)
        return COLD_MEMORY;
    memcpy(copy, terms, (size_t)n_terms * sizeof *copy);
    *hot = (struct hot_code){.next = regime_codes,
                             .code = code,
                             .counters = counters,
                             .terms = copy,
                             .n_terms = (uint32_t)n_terms,
                             .number = n_hot_codes};
    if (yields_in != NULL && keep_yields(hot, yields_in) != COLD_UNASKED)
        return COLD_MEMORY;
    n_hot_codes++;
    code->hot = hot;
    __atomic_store_n(&regime_codes, hot, __ATOMIC_RELEASE);
    return COLD_UNASKED;
}

enum cold_reason regime_prepare(struct lines_code *code, const struct instr_list *list,
                                const struct hit_rules *rules, bool is_generator)
{
    bool is_brief = is_generator && has_short_suspensions(code);
    struct hit_term *terms = NULL;
    struct counters *counters = NULL;
    uint64_t *weights;
    uint8_t *needed;
    enum cold_reason reason = COLD_CODE;
    int n_terms;
    if (code->hot != NULL)
        return COLD_UNASKED;
    n_terms = statements_find_terms(list, rules, &terms);
    if (n_terms < 0)
        return COLD_CODE;
    weights = expected_counts(code, list);
    needed = needed_counts(list, terms, n_terms, is_brief);
    if (weights != NULL && needed != NULL)
        counters = counters_make(&regime_counters, code->key, list, needed, weights, COUNT_PROBES);
    if (counters == NULL)
        reason = COLD_MEMORY;
    else if (is_countable(&counters->plan, terms, n_terms))
        reason = add_hot_code(code, counters, terms, n_terms, is_brief ? list : NULL);
    free(weights);
    free(needed);
    free(terms);
    return reason;
}

/* ---- frames leave the shadow stacks --------------------------------------------------------- */

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

/* The frames directly above that had no line yet are on the line of the one below `frame`. */
static void move_inherited_line(struct lines_thread *thread, const struct lines_frame *frame)
{
    struct line_cell *line = frame->below->line;
    for (struct lines_frame *above = frame->above; above->start == 0; above = above->above) {
        if (above != thread->top) {
            above->line->covered--;
            line->covered++;
        }
        above->line = line;
        if (above == thread->top)
            return;
    }
}

/* Closes a frame that is below the top, as if it ended now and the one above were called later. */
static void close_frame(struct lines_thread *thread, struct lines_frame *frame, uint64_t now)
{
    struct line_cell *line = frame->line;
    int64_t inside; /* before the frame above began */
    line->covered--;
    frame->table->active--;
    frame->edge->active--;
    if (frame->start == 0) {
        frame->below->callees += frame->callees;
        return;
    }
    inside = (int64_t)(start_above(thread, frame, now) - frame->start);
    if ((uint32_t)line->covered == 0)
        line->inclusive += (int64_t)(now - frame->line_start);
    if (frame->table->active == 0) {
        frame->table->inclusive += (int64_t)(now - frame->start);
        frame->table->debt += thread->debt - frame->debt;
    }
    if (frame->edge->active == 0)
        frame->edge->inclusive += (int64_t)(now - frame->start);
    frame->edge->exclusive += inside - frame->callees;
    frame->below->callees += inside;
    move_inherited_line(thread, frame);
}

/* Puts a closed frame back among the free ones, above the top. */
static void free_frame(struct lines_thread *thread, struct lines_frame *frame)
{
    struct lines_frame *top = thread->top;
    frame->below->above = frame->above;
    frame->above->below = frame->below;
    frame->below = top;
    frame->above = top->above;
    if (top->above != NULL)
        top->above->below = frame;
    top->above = frame;
}

/*
 * Takes all frames of a code object off a shadow stack, innermost first: with recursion the last
 * one closed is the outermost, whose time counts. The hit that is running is not timed: its end is
 * not going to be seen.
 */
static void retire_frames(struct lines_thread *thread, const void *key, uint64_t now)
{
    struct lines_frame *frame = thread->top;
    while (frame != &thread->bottom) {
        struct lines_frame *below = frame->below;
        if (frame->key == key) {
            if (frame != thread->top) {
                close_frame(thread, frame, now);
                free_frame(thread, frame);
            } else if (frame->start != 0) {
                account_pop_started(thread, now);
            } else {
                account_pop(thread, now);
            }
        }
        frame = below;
    }
}

void regime_retire(const struct lines_code *code, uint64_t raw)
{
    for (struct lines_thread *thread = lines_threads; thread != NULL; thread = thread->next)
        retire_frames(thread, code->key, clock_virtual(thread->debt, raw));
}

void regime_heat(struct lines_code *code, uint64_t raw)
{
    counters_put(&regime_counters, code->hot->counters);
    code->hot->is_hot = true;
    code->regime = REGIME_HOT;
    code->reason = COLD_UNASKED;
    regime_retire(code, raw);
}

void regime_cool(struct lines_code *code, enum cold_reason reason)
{
    counters_remove(&regime_counters, code->key);
    code->hot->is_hot = false;
    code->regime = REGIME_COLD;
    regime_refuse(code, reason, false);
}

static int64_t *loss_at(const struct lines_code *code, uint32_t unit)
{
    const struct counters *counters = code->hot->counters;
    return &counters->losses[counters_instr(counters, unit)];
}

void regime_enter(struct lines_code *code, uint32_t unit)
{
    --*loss_at(code, unit);
}

void regime_leave(struct lines_code *code, uint32_t unit)
{
    ++*loss_at(code, unit);
}

/* ---- the result ----------------------------------------------------------------------------- */

/* Room for the derivation of one code object at a time, and the losses of all. */
struct summing {
    uint32_t n_codes;
    int64_t **losses; /* by number; with the frames that are running */
    int64_t *counts;
    int64_t *scratch;
    uint64_t *cold_hits; /* by line */
};

static bool lose_running_frame(void *context, const void *key, uint32_t unit)
{
    const struct summing *sum = context;
    const struct lines_code *code = registry_find(key);
    const struct hot_code *hot = code == NULL ? NULL : code->hot;
    if (hot != NULL && hot->is_hot && hot->number < sum->n_codes)
        sum->losses[hot->number][counters_instr(hot->counters, unit)]++;
    return true;
}

/*
 * Suspensions that were not timed: they are counted, and a line is taken to have waited as long at
 * each hit as it had when it was.
 */
static void add_suspensions(struct code_total *total, const struct hot_code *hot,
                            const struct summing *sum)
{
    for (uint32_t i = 0; i < hot->n_yields; i++)
        total->yields += (uint64_t)sum->counts[hot->yields[i]];
    for (uint32_t i = 0; i < hot->code->n_lines; i++) {
        struct line_total *line = &total->lines[i];
        if (sum->cold_hits[i] != 0)
            line->await =
                (int64_t)((double)line->await * (double)line->hits / (double)sum->cold_hits[i]);
    }
}

static void add_hot_code_total(struct code_total *total, const struct hot_code *hot,
                               const int64_t *losses, const struct summing *sum)
{
    const struct lines_code *code = hot->code;
    const struct block_plan *plan = &hot->counters->plan;
    blocks_derive(plan, hot->counters->units, losses, sum->counts, sum->scratch);
    total->calls += (uint64_t)sum->counts[plan->entry];
    for (uint32_t i = 0; i < code->n_lines; i++)
        sum->cold_hits[i] = total->lines[i].hits;
    for (uint32_t i = 0; i < hot->n_terms; i++) {
        const struct hit_term *term = &hot->terms[i];
        int64_t count = sum->counts[term->instr] - (term->completed ? losses[term->instr] : 0);
        uint32_t line = (uint32_t)(term->line - code->first_line);
        if (line < code->n_lines) /* may wrap on the way, the sum does not */
            total->lines[line].hits += (uint64_t)(count * term->coefficient);
    }
    for (uint32_t i = 0; i < code->n_lines; i++) {
        total->lines[i].ran_hot = total->lines[i].hits != sum->cold_hits[i];
        total->ran_hot |= total->lines[i].ran_hot;
    }
    if (hot->has_short_suspensions)
        add_suspensions(total, hot, sum);
}

/* Sizes of what is needed for the codes in the list, in words. */
static size_t words_needed(const struct hot_code *first, size_t *n_counts, size_t *n_scratch)
{
    size_t n_words = 0, n_lines = 0;
    *n_counts = *n_scratch = 0;
    for (const struct hot_code *hot = first; hot != NULL; hot = hot->next) {
        const struct block_plan *plan = &hot->counters->plan;
        n_words += plan->n_instrs + 2;
        *n_counts = plan->n_instrs > *n_counts ? plan->n_instrs : *n_counts;
        *n_scratch =
            blocks_scratch_words(plan) > *n_scratch ? blocks_scratch_words(plan) : *n_scratch;
        n_lines = hot->code->n_lines > n_lines ? hot->code->n_lines : n_lines;
    }
    return n_words + *n_counts + *n_scratch + n_lines;
}

/* Lays the arrays out behind each other and copies the losses. */
static void lay_out(struct summing *sum, const struct hot_code *first, int64_t *words,
                    size_t n_counts, size_t n_scratch)
{
    sum->losses = (int64_t **)words;
    words += sum->n_codes;
    sum->counts = words;
    words += n_counts;
    sum->scratch = words;
    words += n_scratch;
    for (const struct hot_code *hot = first; hot != NULL; hot = hot->next) {
        uint32_t n_instrs = hot->counters->plan.n_instrs;
        memcpy(words, hot->counters->losses, n_instrs * sizeof *words);
        sum->losses[hot->number] = words;
        words += n_instrs;
    }
    sum->cold_hits = (uint64_t *)words;
}

/* Tells code that would be hot if anything could why it is not. */
static void explain(const struct account_totals *totals)
{
    uint32_t n = 0;
    for (struct lines_code *code = lines_registry.codes; n < totals->n_codes;
         n++, code = code->next)
        if (reason_of_all != COLD_UNASKED && code->regime == REGIME_COLD && regime_is_due(code))
            code->reason = reason_of_all;
}

int regime_add(struct account_totals *totals)
{
    const struct hot_code *first = __atomic_load_n(&regime_codes, __ATOMIC_ACQUIRE);
    struct summing sum = {.n_codes = first == NULL ? 0 : first->number + 1};
    size_t n_counts, n_scratch, n_words = words_needed(first, &n_counts, &n_scratch);
    int64_t *words;
    explain(totals);
    if (first == NULL)
        return 0;
    words = pages_alloc(n_words * sizeof *words);
    if (words == NULL)
        return -1;
    lay_out(&sum, first, words, n_counts, n_scratch);
    if (regime_walk != NULL)
        regime_walk(lose_running_frame, &sum);
    for (const struct hot_code *hot = first; hot != NULL; hot = hot->next)
        if (hot->code->id <= totals->n_codes)
            add_hot_code_total(&totals->codes[hot->code->id - 1], hot, sum.losses[hot->number],
                               &sum);
    pages_free(words, n_words * sizeof *words);
    return 0;
}

void regime_add_passes(const struct hot_code *hot, uint64_t *passes)
{
    const struct block_plan *plan = &hot->counters->plan;
    const struct lines_code *code = hot->code;
    for (uint32_t b = 0; b < plan->n_blocks; b++) {
        uint32_t unit = plan->blocks[b].probe == NO_INSTR ? code->n_units
                                                          : plan->own_unit[plan->blocks[b].probe];
        if (unit < code->n_units && code->line_of_unit[unit] > 0)
            passes[code->line_of_unit[unit] - code->first_line] +=
                (uint64_t)hot->counters->units[unit];
    }
}
