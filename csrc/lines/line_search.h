/*
 * line_search.h - what CPython's own search for the line of an event costs.
 *
 * Before 3.13.3 an event far from the start of its code object makes the interpreter walk the line
 * table from the start, for its own line and for the one before: in a function of 10,000 lines that
 * is 100 us. It happens before the callback, so the clock would take it for the program's time.
 *
 * How long such walks take is measured for each long code object when it is registered. What each
 * event needed goes into the debt of its thread, and code that spent more than a moment on searches
 * is due to turn hot: events of hot code need none.
 */
#ifndef PROFTRACE_LINES_LINE_SEARCH_H
#define PROFTRACE_LINES_LINE_SEARCH_H

#include "lines/account.h"

#define SEARCH_SCALE_ONE (1u << 16)

struct line_search {
    const uint32_t *of_unit;    /* like a debt, as measured at first; by code unit */
    const uint32_t *after_line; /* by line: of what runs last on it, in the order of the code */
    uint32_t first_line;        /* index of the first line with a search */
    uint64_t due_at;            /* a thread's `searched` when the code is due to turn hot */
    uint64_t n_charged;
    uint32_t scale; /* how many times as long they take now; SEARCH_SCALE_ONE = as at first */
};

/*
 * Makes it in an arena from the costs of all units, which are copied; NULL when memory is out.
 * The caller fills in nothing else.
 */
NODISCARD struct line_search *line_search_make(struct arena *arena, const struct lines_code *code,
                                               const uint32_t *of_unit);

/*
 * Puts the search of a LINE event at a code unit, for the code on top, into the thread's debt; the
 * one for the line before is left out if the interpreter knew that it is another (`line_alone`).
 * Returns whether the caller should do such a search itself now, and say how long it took: the host
 * changes its speed, and the table may be in a nearer cache or not.
 */
bool line_search_charge(struct lines_thread *thread, uint32_t unit, bool line_alone);

/* A search to a code unit of the code on top took so many ticks, which are nobody's time. */
void line_search_adjust(struct lines_thread *thread, uint32_t unit, uint64_t ticks);

/* Whether leaving a line, or arriving there, may need a search. */
static inline bool line_search_has(const struct lines_code *code, uint32_t line)
{
    return unlikely(code->search != NULL) &&
           (line >= code->search->first_line || code->search->after_line[line] != 0);
}

/* Whether a code object spent enough on searches to turn hot, as counted by one thread. */
static inline bool line_search_is_due(const struct code_table *table)
{
    const struct line_search *search = table->code->search;
    return unlikely(search != NULL) && table->searched >= search->due_at;
}

/* The same for all threads. */
bool line_search_was_dear(const struct lines_code *code);

/* It stays cold for now: it is due again when it spent twice as much. */
void line_search_put_off(const struct lines_code *code);

/* The error, in ticks, of what was taken out of a line's time with its events. */
uint64_t line_search_error_ticks(const struct lines_code *code, uint32_t line, uint64_t n_events);

#endif
