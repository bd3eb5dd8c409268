/*
 * monitor_hot.h - the hot regime's side of the monitor: its callbacks, and the changes between the
 * regimes (lines/regime.h). Its callbacks are monitor.c's; the module calls hot_allow, hot_forbid,
 * hot_silence, hot_restart and hot_watch.
 */
#ifndef PROFTRACE_PYTHON_MONITOR_HOT_H
#define PROFTRACE_PYTHON_MONITOR_HOT_H

#include "python/compat.h"

#include "lines/regime.h"

/* What monitor.c subscribes code objects to; the numbers of events are the interpreter's. */
struct hot_events {
    int tool_id;
    long cold_mask;      /* local events of cold code */
    long hot_mask;       /* of hot code */
    long suspended_mask; /* of hot coroutines besides: their time of waiting */
    long global_mask;    /* global events as long as something is registered */
    long raise_bit;      /* to be added to them while something is hot; 0 = it is local */
};

/* To be called whenever there is a tool id. -1 with an exception set. */
NODISCARD int hot_prepare(const struct hot_events *events);

/* The tool id is going to be given back; nothing is hot, and no code has events. */
void hot_release(void);

/* One global event more is subscribed from now on; the caller does that. */
void hot_listen_to(long bit);

/*
 * Lets code objects turn hot after n_events LINE events each. `anyway`: also where there can be no
 * samples, so that hot code has no time (for tests of counts). -1 with an exception set.
 */
NODISCARD int hot_allow(uint64_t n_events, bool anyway);

/* Takes the code's events away until monitor_subscribe: nobody wants to hear of it for now. */
void hot_silence(struct lines_code *code);

/* In a forked child, before account_restart: everything is cold, and may get hot again. */
void hot_restart(void);

/* Keeps everything cold because the user wants it. */
void hot_forbid(void);

/*
 * Samples the calling thread in a registered code object that has no events at all, as plain code:
 * the truth that `lprof check` compares with. NULL, or why there are no samples.
 */
NODISCARD const char *hot_watch(struct lines_code *code);

PyObject *hot_on_instruction(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames);
PyObject *hot_on_raise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

/* Whether a code object is hot now. */
static inline bool hot_has(const void *code)
{
    return unlikely(regime_codes != NULL) && counters_find(&regime_counters, code)->key != NULL;
}

/*
 * Returns the nearest profiled code below the innermost frame, and the code unit where it is, if it
 * is hot; NULL if it is not, or there is none.
 */
NODISCARD const void *hot_caller(uint32_t *unit);

/* After a LINE event of the code on top was counted: whether to look at how many there were. */
static inline bool hot_should_ask(const struct lines_thread *thread)
{
    return unlikely((thread->top->line->deliveries & regime_ask_mask) == 0 ||
                    (thread->top->table != NULL && line_search_is_due(thread->top->table)));
}

/* Makes the code on top hot if it is due. Returns what the callback returns. */
NOINLINE PyObject *hot_ask(struct lines_thread *thread);

#endif
