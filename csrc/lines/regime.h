/*
 * regime.h - hot code: counted by blocks (counters.h) instead of LINE events, timed by samples.
 *
 * Every code object starts cold. After many LINE events it turns hot: its frames leave the shadow
 * stacks, and from then on its hits follow from counters. It may turn cold again, and hot again.
 * Both parts add up to the same hits, as each frame that is running at a change is told where it
 * stands: what it began before belongs to one regime, what it begins later to the other.
 *
 * Changes happen inside a callback that holds the GIL, so all other threads stand still and none
 * of them is inside a callback.
 */
#ifndef PROFTRACE_LINES_REGIME_H
#define PROFTRACE_LINES_REGIME_H

#include "format/record.h" /* enum cold_reason */
#include "lines/account.h"
#include "lines/counters.h"
#include "lines/line_search.h"

/* A code object that was hot at least once. */
struct hot_code {
    struct hot_code *next; /* of all there are; read with acquire order */
    struct lines_code *code;
    struct counters *counters;
    const struct hit_term *terms;
    uint32_t n_terms;
    const uint32_t *yields; /* instructions; only with has_short_suspensions */
    uint32_t n_yields;
    uint32_t number; /* from 0 */
    bool is_hot;
    /* A generator that is taken up again soon: its suspensions are counted, but not timed. */
    bool has_short_suspensions;
};

/* What INSTRUCTION and RAISE callbacks write; has the code objects that are hot now. */
extern struct counters_table regime_counters;
extern INTERNAL struct hot_code *regime_codes; /* list head; read with acquire order */

/*
 * A LINE event asks whether to change the regime when the number of events of its line has none of
 * these bits: all ones while nothing may turn hot.
 */
extern INTERNAL uint64_t regime_ask_mask;

/* Code objects may turn hot after n_events LINE events. -1 when memory is out. */
NODISCARD int regime_allow(uint64_t n_events);

/* Nothing turns hot any more, and this is why. */
void regime_forbid(enum cold_reason reason);

/* Whether a code object had enough events by now; cheap. */
bool regime_is_due(const struct lines_code *code);

/* It stays cold as the clock suits it (slow_code.h); that is asked again before long. */
void regime_postpone(struct lines_code *code);

/* It stays cold for a reason; asks again after as many events as it had, unless that is useless. */
void regime_refuse(struct lines_code *code, enum cold_reason reason, bool is_final);

/*
 * Analyses a code object, the first time that it gets hot. COLD_UNASKED: it is ready now;
 * otherwise why it cannot be hot. `is_generator`: a plain one, that waits for nothing.
 */
NODISCARD enum cold_reason regime_prepare(struct lines_code *code, const struct instr_list *list,
                                          const struct hit_rules *rules, bool is_generator);

/*
 * The change itself, for a code object that is ready: from now on its counters count, or do not.
 * The caller subscribes the events and calls regime_enter or regime_leave for each frame that is
 * running. Getting hot takes the frames off all shadow stacks; `raw` is the time.
 */
void regime_heat(struct lines_code *code, uint64_t raw);
void regime_cool(struct lines_code *code, enum cold_reason reason);

/* Takes the code's frames off all shadow stacks, as if they ended now; `raw` is the time. */
void regime_retire(const struct lines_code *code, uint64_t raw);

/* A frame of the code stands at a code unit: that has begun, what follows has not. */
void regime_enter(struct lines_code *code, uint32_t unit);
void regime_leave(struct lines_code *code, uint32_t unit);

/* ---- for the result ------------------------------------------------------------------------- */

/* Takes a running frame of a code object; false: that is enough. */
typedef bool (*regime_visit_fn)(void *context, const void *key, uint32_t unit);

/*
 * Visits the running frames of all threads. May be called in a signal handler and while other
 * threads run: then a frame's place is nearly right. NULL: there are none.
 */
extern void (*regime_walk)(regime_visit_fn visit, void *context);

/* Adds the hits and calls of hot code to the totals. -1 when memory is out. */
NODISCARD int regime_add(struct account_totals *totals);

/*
 * How often the probes of a line were passed, to take their own cost out of its time: adds to
 * passes[line - code->first_line].
 */
void regime_add_passes(const struct hot_code *hot, uint64_t *passes);

#endif
