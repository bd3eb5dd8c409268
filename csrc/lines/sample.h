/*
 * sample.h - the time of hot code, by samples of the threads that run it.
 *
 * A thread is interrupted at random moments of its CPU time, in user mode only, so that no system
 * call of the program is ever cut short; a helper thread looks at those that do not run. A sample
 * of weight w (ticks) is charged to the line of the innermost profiled frame (exclusive) and to
 * every profiled line on the stack once (inclusive). Samples that hit the interpreter's and our own
 * instrumentation are thrown away, and counted.
 *
 * Everything is added up in tallies that one thread each writes with plain stores; the result is
 * the sum of all tallies. Sampling needs no GIL and takes no lock that the program could hold.
 */
#ifndef PROFTRACE_LINES_SAMPLE_H
#define PROFTRACE_LINES_SAMPLE_H

#include "interp/frames.h"
#include "lines/registry.h"

#include <stdbool.h>

/* ---- for the callbacks ---------------------------------------------------------------------- */

/* What python/ knows of the interpreter; copied. */
struct sample_host {
    const struct frame_reader *frames; /* borrowed; `intern` is not used */
    uintptr_t eval_loop;               /* address of _PyEval_EvalFrameDefault */
    uintptr_t ordinary_call;           /* address of PyObject_Vectorcall */
    uint32_t state_tracing;            /* offset of an int in the thread state */
    bool without_perf, without_ticks;  /* as if the system did not allow them */
    /* Py_AddPendingCall: the function is called soon, outside of fork and of signal handlers. */
    int (*call_soon)(int (*function)(void *), void *argument);
};

/*
 * Starts the helper thread and makes everything ready; to be called inside a callback when the
 * first code object turns hot. Returns NULL (also when it had been started before), or a static
 * text that says why there can be no samples here: the same one at every further call.
 */
NODISCARD const char *sample_start(const struct sample_host *host);

/*
 * The calling thread runs hot code: it is sampled until it ends. Cheap when it is known; otherwise
 * the thread holds the GIL and is inside a callback.
 */
void sample_thread_enter_slow(void);
extern TLS_FAST struct sample_thread *sample_self; /* NULL until then */

static inline void sample_thread_enter(void)
{
    if (unlikely(sample_self == NULL))
        sample_thread_enter_slow();
}

/*
 * Each kind of event comes out of other functions of the interpreter, the last of which are common
 * to all. They are learned by looking at the native stack once, from within a callback of that
 * kind, as soon as there are samples. Events that are rare in hot code do without.
 */
enum sample_event {
    SAMPLE_EVENT_LINE, /* learned by sample_start */
    SAMPLE_EVENT_INSTRUCTION,
    SAMPLE_EVENT_RAISE,
    SAMPLE_EVENT_YIELD,
    SAMPLE_EVENT_RESUME,
};

extern uint32_t sample_unlearned; /* a bit each; 0 while there are no samples */
void sample_learn_slow(enum sample_event event);

/* To be called by the callback itself. */
static inline void sample_learn(enum sample_event event)
{
    if (unlikely(sample_unlearned >> event & 1))
        sample_learn_slow(event);
}

/*
 * Ends sampling for good: at the end of the session. Any thread may call it, a signal handler too.
 * A successful exec ends it by itself. So does fork in the child, where sample_start may be called
 * again.
 */
void sample_stop(void);

/* The program is about to give this signal a handler: if we use it, another one is taken first. */
void sample_spare_signal(int number);

/* The calling thread is about to change which signals it blocks, and has done so. */
void sample_mask_changes(void);
void sample_mask_changed(void);

/*
 * An event costs a little inside the evaluation loop too, where it cannot be told from the program:
 * so much for each tick outside of it. Measured, see docs/internals/line-accounting.md.
 */
#define SAMPLE_LOOP_SHARE 0.1

/* ---- for the result ------------------------------------------------------------------------- */

/* Weights in ticks (base/ticks.h); squares are sums of squared weights, for the error. */
struct sample_line {
    uint64_t exclusive;
    uint64_t inclusive;
    double exclusive_squares;
    double inclusive_squares;
    uint64_t covered; /* cold code: time of hot frames while its clock was running on this line, */
    double covered_squares;
    uint64_t covered_lost; /* and weights of discarded samples then */
    double covered_lost_squares;
    uint64_t lost; /* hot code: weights of discarded samples in which it was the innermost, */
    uint64_t lost_inclusive; /* and of all those that found it */
    uint64_t inside_due;     /* what events cost inside the evaluation loop, not yet taken out */
    uint32_t samples;        /* in which it was the innermost profiled line */
    uint32_t discarded;      /* the same, but of instrumentation */
    uint32_t mark;           /* the last sample that was added to inclusive */
};

/* The share of one tally in one code object. */
struct sample_table {
    const struct lines_code *code;
    uint64_t inclusive; /* every sample once, however often it is on the stack */
    uint64_t lost_inclusive;
    double inclusive_squares;
    uint32_t samples;           /* that found it anywhere on the stack */
    uint32_t mark;              /* the last of them */
    struct sample_line lines[]; /* code->n_lines */
};

/* Calls: a line of the nearest profiled caller, and the callee. */
struct sample_edge {
    uint32_t caller; /* code ids; 0 = called from no profiled code */
    uint32_t line;   /* of the caller; 0 then */
    uint32_t callee;
    uint32_t samples;
    uint32_t mark;
    uint64_t inclusive;
    uint64_t exclusive; /* of the callee */
    uint64_t covered;   /* a cold callee: as in sample_line */
};

struct sample_tally {
    struct sample_tally *next;    /* of all there ever were */
    struct sample_table **tables; /* by code id; NULL = never met. Read with acquire order: */
    uint32_t n_tables;            /* first this, then `tables` */
    struct sample_edge *edges;    /* open addressing; slots with callee 0 are free */
    uint32_t n_edge_slots;        /* first this, then `edges`; 0 while there is none */
    uint64_t samples;             /* that found profiled code */
    uint64_t discarded;           /* that found instrumentation */
    uint64_t elsewhere;           /* that found no profiled code */
    uint64_t torn;                /* whose stack could not be read to its end */
    uint32_t mark;                /* of the newest sample */
    uint32_t n_edges;
    double gaps; /* times between samples, in ticks, */
    double gap_squares;
    struct arena arena;
};

extern struct sample_tally *sample_tallies; /* list head; read with acquire order */

#define SAMPLE_DESCRIBE_ROOM 512u /* enough for sample_describe */

/*
 * Writes how samples were taken, as JSON without a NUL at its end, and returns its length; 0 when
 * sampling was never started.
 */
size_t sample_describe(char *text, size_t room);

#endif
