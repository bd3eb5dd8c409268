/*
 * account.h - hits and time per line, from events: the cold regime.
 *
 * Each thread has a shadow stack of the profiled frames that are running in it, and for every code
 * object it met a table of cells, one a line. Only the thread itself writes them, with plain
 * stores; the result adds them up over all threads. When a thread ends, its tables wait for the
 * next new thread, which goes on adding to them: sums need no owner.
 *
 * Time is in ticks (base/ticks.h). The time between two events of a thread belongs to the line on
 * top of its stack (exclusive). A line's inclusive time is from its event to the next one of its
 * frame, or to the frame's exit, callees included; when the line is active in several frames of
 * the thread (recursion), only the outermost counts. A suspended generator is not on the stack.
 *
 * Functions here are called with the time of their event. They never fail the program: what cannot
 * be recorded because memory is out is left out.
 */
#ifndef PROFTRACE_LINES_ACCOUNT_H
#define PROFTRACE_LINES_ACCOUNT_H

#include "lines/registry.h"

#include <stdbool.h>

struct line_cell {
    uint64_t deliveries; /* LINE events */
    uint64_t returns;    /* those that only came back to a line in progress */
    int64_t exclusive;
    int64_t inclusive;
    uint32_t active;    /* frames of this thread that are on this line */
    uint32_t ambiguous; /* ask account_came_back about every event here */
};

/* The share of one thread in one code object. */
struct code_table {
    const struct lines_code *code;
    uint64_t calls;
    int64_t inclusive;
    uint32_t active;          /* frames of this thread */
    struct line_cell cells[]; /* code->n_lines */
};

/*
 * Frames are linked once, when they are allocated, and keep what they held when they are popped:
 * the next push at the same depth is mostly of the same code.
 */
struct lines_frame {
    const void *key;        /* of the code; NULL in the frame below the first */
    struct line_cell *line; /* before its first line: the line of the frame below */
    uint64_t line_start;
    struct line_cell *cells;
    int32_t first_line;
    uint32_t n_lines;
    struct code_table *table;
    uint64_t start; /* of its first line; 0 before */
    struct lines_frame *below;
    struct lines_frame *above; /* NULL at the end of what is allocated */
};

#define RECENT_TABLES 32u

struct lines_thread {
    struct lines_frame *top;                  /* never NULL */
    uint64_t last;                            /* time of the last event */
    struct code_table *recent[RECENT_TABLES]; /* by address of the code */
    struct code_table **tables;               /* by code id; NULL = not met */
    uint32_t n_tables;
    uint32_t index; /* from 1 */
    uint64_t tid;
    uint64_t start_mono_ns;
    struct lines_thread *next;      /* of all threads there ever were */
    struct lines_thread *next_idle; /* of those whose owner has ended */
    struct arena arena;
    struct line_cell nowhere; /* takes the time when nothing is on the stack */
    struct lines_frame bottom;
};

/* NULL until the thread's first event. */
extern TLS_FAST struct lines_thread *lines_self;
extern struct lines_thread *lines_threads; /* list head; read with acquire order */

/* Returns this thread's state, made if need be; NULL when memory is out. */
NODISCARD struct lines_thread *account_thread(void);

/*
 * Returns the frame above the top, filled in for a code object but not pushed; NULL when the code
 * is not registered or memory is out.
 */
NODISCARD struct lines_frame *account_prepare(struct lines_thread *thread, const void *key);

static inline struct lines_frame *account_push(struct lines_thread *thread, const void *key)
{
    struct lines_frame *frame = thread->top->above;
    if (unlikely(frame == NULL || frame->key != key) &&
        (frame = account_prepare(thread, key)) == NULL)
        return NULL; /* its events are going to find nothing, and be left out */
    frame->line = thread->top->line;
    frame->line->active++;
    frame->start = 0;
    frame->table->active++;
    thread->top = frame;
    return frame;
}

static inline void account_pop(struct lines_thread *thread, uint64_t now)
{
    struct lines_frame *top = thread->top;
    struct line_cell *line = top->line;
    struct code_table *table = top->table;
    line->exclusive += (int64_t)(now - thread->last);
    thread->last = now;
    if (likely(--line->active == 0))
        line->inclusive += (int64_t)(now - top->line_start);
    if (likely(--table->active == 0 && top->start != 0))
        table->inclusive += (int64_t)(now - top->start);
    thread->top = top->below;
}

/*
 * A frame begins (PY_START): a call. Its first line follows at once, so no time is needed: until
 * then the line of the caller is running.
 */
static inline void account_start(struct lines_thread *thread, const void *key)
{
    struct lines_frame *frame = account_push(thread, key);
    if (likely(frame != NULL))
        frame->table->calls++;
}

/* A frame goes on at a code unit (PY_RESUME, PY_THROW); not a call and not a hit. */
void account_resume(struct lines_thread *thread, const void *key, uint32_t unit, uint64_t now);

/* A frame is left that is not the top: whatever is above it is left too. */
void account_leave_below(struct lines_thread *thread, const void *key, uint64_t now);

/* A frame is left (PY_RETURN, PY_YIELD, PY_UNWIND). */
static inline void account_leave(struct lines_thread *thread, const void *key, uint64_t now)
{
    if (likely(thread->top->key == key))
        account_pop(thread, now);
    else
        account_leave_below(thread, key, now);
}

/*
 * Makes a frame of this code the top, for an event that came when it was not: drops the frames
 * above the nearest one, or pushes one for a frame that was entered unseen (profiled while running,
 * or greenlets were switched). Returns -1 when the code is not registered or memory is out.
 */
NODISCARD int account_resynchronise(struct lines_thread *thread, const void *key, uint64_t now);

/*
 * A LINE event for the code on top. Returns the line's cell when the caller has to decide by the
 * instruction whether the event counts (then account_came_back), else NULL.
 */
static inline struct line_cell *account_line(struct lines_thread *thread, int32_t line,
                                             uint64_t now)
{
    struct lines_frame *top = thread->top;
    struct line_cell *before = top->line;
    uint32_t index = (uint32_t)(line - top->first_line);
    struct line_cell *cell;
    if (unlikely(index >= top->n_lines))
        return NULL;
    cell = top->cells + index;
    if (top->start == 0)
        top->start = now;
    before->exclusive += (int64_t)(now - thread->last);
    thread->last = now;
    if (likely(--before->active == 0))
        before->inclusive += (int64_t)(now - top->line_start);
    top->line = cell;
    top->line_start = now;
    cell->active++;
    cell->deliveries++;
    return unlikely(cell->ambiguous) ? cell : NULL;
}

/* Says that the event at this code unit, which account_line asked about, may not count. */
static inline void account_came_back(struct lines_thread *thread, struct line_cell *cell,
                                     uint32_t unit)
{
    const struct lines_code *code = thread->top->table->code;
    if (unit < code->n_units && (code->skip[unit >> 3] >> (unit & 7) & 1))
        cell->returns++;
}

/* A forked child has one thread and counts for itself. */
void account_after_fork(void);

/* Whether no registered code object has run so far. Takes no lock. */
bool account_is_empty(void);

#define LINE_BUCKETS 38 /* of a histogram: up to 2^37 ns, more than two minutes */

/*
 * Totals of a code object over all threads, what is running included up to now. Times in ticks.
 * Errors are one standard deviation; those of an inclusive and an exclusive time go together.
 */
struct line_total {
    uint64_t hits;
    uint64_t raw_hits;
    int64_t inclusive;
    int64_t exclusive;
    int64_t await;
    int64_t min; /* of one hit; both 0 when the histogram is empty */
    int64_t max;
    uint64_t samples;
    uint64_t exclusive_error;
    uint64_t inclusive_error;
    uint64_t mark; /* the last thread whose running frames were added: outermost first */
    uint64_t histogram[LINE_BUCKETS]; /* hits by log2 of their ns */
};

/* Calls of a code object from one line; caller 0 = from code that is not profiled. */
struct call_total {
    uint32_t caller; /* code id */
    uint32_t line;
    uint32_t callee; /* code id */
    uint64_t calls;
    int64_t inclusive;
    int64_t exclusive;
};

struct code_total {
    const struct lines_code *code;
    uint64_t calls;
    uint64_t yields;
    int64_t inclusive;
    int64_t exclusive;
    uint64_t samples;
    uint64_t discarded;
    uint64_t exclusive_error;
    uint64_t inclusive_error;
    uint64_t mark;
    struct line_total *lines; /* code->n_lines */
};

struct account_totals {
    struct code_total *codes; /* by code id - 1 */
    uint32_t n_codes;
    struct call_total *edges;
    uint32_t n_edges;
    size_t n_bytes; /* owned pages */
};

/*
 * Adds up what was counted so far. Takes no lock and allocates pages only, so that it can run in a
 * signal handler; other threads may go on counting. Returns -1 when memory is out.
 */
NODISCARD int account_sum(struct account_totals *totals, uint64_t now);
void account_totals_release(struct account_totals *totals);

#endif
