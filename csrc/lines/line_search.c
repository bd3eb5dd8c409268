/* line_search.c - see line_search.h. */
#include "lines/line_search.h"

/* Code may spend so much on searches before it is due: about what turning hot takes. */
#define SPENT_NS 500e3
/* One standard deviation of a search, as a part of it. */
#define SPREAD 0.05
/* Every so many searches, one is timed; the scale follows the last few of those. */
#define LOOK_EVERY 16u
#define LOOKS_TOGETHER 8
#define MOST_CHANGE 1.5

struct line_search *line_search_make(struct arena *arena, const struct lines_code *code,
                                     const uint32_t *of_unit)
{
    struct line_search *search = arena_alloc(arena, sizeof *search);
    uint32_t *units = arena_alloc(arena, code->n_units * sizeof *units);
    uint32_t *after = arena_alloc(arena, code->n_lines * sizeof *after);
    if (search == NULL || units == NULL || after == NULL)
        return NULL;
    search->first_line = code->n_lines;
    for (uint32_t unit = 0; unit < code->n_units; unit++) {
        uint32_t line = (uint32_t)(code->line_of_unit[unit] - code->first_line);
        units[unit] = of_unit[unit];
        if (line >= code->n_lines)
            continue;
        after[line] = of_unit[unit];
        if (of_unit[unit] != 0 && line < search->first_line)
            search->first_line = line;
    }
    search->of_unit = units;
    search->after_line = after;
    search->scale = SEARCH_SCALE_ONE;
    search->due_at = (uint64_t)(SPENT_NS * (1ull << NS_SCALE_SHIFT) / (double)probe_ns_scale)
                     << PROBE_SHIFT;
    return search;
}

/* The search for the line that ran before an event at this unit. */
static uint32_t cost_before(const struct lines_thread *thread, const struct line_search *search,
                            uint32_t unit)
{
    const struct lines_frame *top = thread->top;
    const struct lines_code *code = top->table->code;
    uint32_t line = (uint32_t)(top->line - top->cells);
    if (top->start == 0 || line >= code->n_lines)
        return 0; /* nothing ran */
    if (unit > 0 && code->line_of_unit[unit - 1] == code->first_line + (int32_t)line)
        return search->of_unit[unit - 1];
    return search->after_line[line];
}

bool line_search_charge(struct lines_thread *thread, uint32_t unit, bool line_alone)
{
    struct code_table *table = thread->top->table;
    struct line_search *search = table->code->search;
    uint64_t cost;
    if (search == NULL || unit >= table->code->n_units)
        return false;
    cost = search->of_unit[unit];
    if (!line_alone)
        cost += cost_before(thread, search, unit);
    if (cost == 0)
        return false;
    cost = cost * search->scale / SEARCH_SCALE_ONE;
    thread->debt += cost;
    table->searched += cost;
    return search->of_unit[unit] != 0 && search->n_charged++ % LOOK_EVERY == 0;
}

void line_search_adjust(struct lines_thread *thread, uint32_t unit, uint64_t ticks)
{
    struct line_search *search = thread->top->table->code->search;
    double ratio = (double)(ticks << PROBE_SHIFT) / search->of_unit[unit];
    double scale = (double)search->scale / SEARCH_SCALE_ONE;
    thread->debt += ticks << PROBE_SHIFT;
    if (ratio > scale * MOST_CHANGE) /* it was interrupted, or everything is slow now */
        ratio = scale * MOST_CHANGE;
    scale += (ratio - scale) / LOOKS_TOGETHER;
    search->scale = (uint32_t)(scale * SEARCH_SCALE_ONE);
}

static const struct code_table *table_of(const struct lines_thread *thread,
                                         const struct lines_code *code)
{
    return code->id < thread->n_tables ? thread->tables[code->id] : NULL;
}

bool line_search_was_dear(const struct lines_code *code)
{
    for (const struct lines_thread *thread = lines_threads; thread != NULL && code->search != NULL;
         thread = thread->next) {
        const struct code_table *table = table_of(thread, code);
        if (table != NULL && line_search_is_due(table))
            return true;
    }
    return false;
}

void line_search_put_off(const struct lines_code *code)
{
    for (const struct lines_thread *thread = lines_threads; thread != NULL && code->search != NULL;
         thread = thread->next) {
        const struct code_table *table = table_of(thread, code);
        if (table != NULL && code->search->due_at < 2 * table->searched)
            code->search->due_at = 2 * table->searched;
    }
}

uint64_t line_search_error_ticks(const struct lines_code *code, uint32_t line, uint64_t n_events)
{
    if (code->search == NULL)
        return 0;
    /* That of what ran before is about as long, and as wrong. */
    return (uint64_t)((double)code->search->after_line[line] * 2 * SPREAD * (double)n_events) >>
           PROBE_SHIFT;
}
