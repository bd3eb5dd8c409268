/*
 * account.h - hits and time per line, from events: the cold regime.
 *
 * Each thread has a shadow stack of the profiled frames that are running in it, and for every code
 * object it met a table of cells, one a line. Only the thread itself writes them, with plain
 * stores; the result adds them up over all threads. When a thread ends, its tables wait for the
 * next new thread, which goes on adding to them: sums need no owner.
 *
 * Time is in ticks of the thread's virtual clock (clock.h). The time between two events of a thread
 * belongs to the line on top of its stack (exclusive). A line's inclusive time is from its event to
 * the next one of its frame, or to the frame's exit, callees included; when the line is active in
 * several frames of the thread (recursion), only the outermost counts. A suspended generator is not
 * on the stack; how long it was suspended is the await time of the line where it was.
 *
 * A hit takes from its event to the next one of its frame, callees included: also when that is
 * inside another hit of the same line (recursion), and without the time of a suspension. An event
 * that only comes back to a line goes on with the hit that the line had.
 *
 * Functions here are called with the time of their event. They never fail the program: what cannot
 * be recorded because memory is out is left out.
 */
#ifndef PROFTRACE_LINES_ACCOUNT_H
#define PROFTRACE_LINES_ACCOUNT_H

#include "lines/clock.h"
#include "lines/registry.h"

#include <stdbool.h>

#define CACHE_LINE_BYTES 64
#define LINE_BUCKETS 38 /* of a histogram: up to 2^37 ns, more than two minutes */

/*
 * The first 64 bytes are what an event touches. The cell of a line that is ambiguous, or that is
 * searched for (line_search.h), counts as covered as well, so that one look tells whether leaving
 * it is plain.
 */
#define COVERED_NOT_PLAIN (1ull << 32)

struct line_cell {
    uint64_t deliveries; /* LINE events */
    int64_t exclusive;
    int64_t inclusive;
    uint64_t longest;           /* hit, in ticks */
    uint64_t shortest_inverted; /* ~ of the shortest one; 0 when there was none */
    uint64_t covered;           /* by frames of the thread, below the top */
    uint32_t ambiguous;         /* ask account_came_back about every event here */
    uint32_t probe;             /* enum probe_kind */
    int64_t await;
    uint64_t returns; /* events that only came back to a line in progress, less credits */
    uint64_t pending; /* of an ambiguous line: ticks + 1 of a hit that may go on; 0 = none */
    uint64_t histogram[LINE_BUCKETS];
};

/* The share of one thread in one code object. */
struct code_table {
    const struct lines_code *code;
    uint64_t yields;
    int64_t inclusive;
    uint64_t debt;           /* that went into `inclusive` (clock.h) */
    uint64_t searched;       /* of the thread's debt: searches for lines (line_search.h) */
    uint32_t active;         /* frames of this thread */
    struct line_cell *cells; /* code->n_lines, at addresses that divide by 64 */
};

/* Calls of one code object from one line. */
struct call_edge {
    const struct line_cell *caller;        /* the thread's `nowhere`: no profiled code */
    const struct code_table *caller_table; /* NULL then */
    const struct code_table *callee;
    uint64_t calls;
    int64_t inclusive; /* of the outermost activation of this very edge */
    int64_t exclusive;
    uint32_t active;
    uint32_t number;        /* within its thread, from 0 */
    struct call_edge *next; /* of the thread's, newest first */
};

/*
 * Frames are linked once, when they are allocated, and keep what they held when they are popped:
 * the next push at the same depth is mostly of the same code, from the same line. What a LINE event
 * needs is in one cache line.
 */
struct __attribute__((aligned(CACHE_LINE_BYTES))) lines_frame {
    const void *key;        /* of the code; NULL in the frame below the first */
    struct line_cell *line; /* before its first line: the line of the frame below */
    uint64_t line_start;    /* of the hit */
    struct line_cell *cells;
    int32_t first_line;
    uint32_t n_plain; /* lines from the first on whose events need no search (line_search.h) */
    uint64_t start;   /* of its first line; 0 before */
    int64_t callees;  /* their inclusive time */
    struct lines_frame *below;
    struct lines_frame *above; /* NULL at the end of what is allocated */
    struct code_table *table;
    struct call_edge *edge;
    uint64_t debt; /* of the thread at the start */
    bool repeats;  /* the last event of an ambiguous line came while that line was running */
};

#define RECENT_TABLES 32u

struct lines_thread {
    struct lines_frame *top; /* never NULL */
    uint64_t last;           /* virtual time of the last event */
    uint64_t debt;           /* see clock.h */
    uint64_t hot_due; /* what events of hot code cost so far, by the calibration; like debts */
    uint64_t
        hot_since; /* `last` at the newest of them: where there was none since, cold code runs */
    uint32_t hot_scale; /* how much of that they are charged: HOT_SCALE_ONE = all */
    struct code_table *recent[RECENT_TABLES]; /* by address of the code */
    struct code_table **tables;               /* by code id; NULL = not met */
    uint32_t n_tables;
    uint32_t index; /* from 1 */
    uint64_t tid;
    uint64_t start_mono_ns;
    struct call_edge *edges;       /* list; read with acquire order */
    struct call_edge **edge_slots; /* open addressing over the same */
    uint32_t n_edge_slots;
    uint32_t n_edges;
    struct lines_thread *next;      /* of all threads there ever were */
    struct lines_thread *next_idle; /* of those whose owner has ended */
    struct arena arena;
    struct line_cell nowhere; /* takes the time when nothing is on the stack */
    struct lines_frame bottom;
};

#define HOT_SCALE_ONE 256u

/* An event of hot code, whose real cost samples know better than the calibration. */
static inline void account_charge_hot(struct lines_thread *thread, enum probe_kind kind)
{
    uint64_t cost = probe_costs[kind].whole;
    thread->hot_due += cost;
    thread->hot_since = thread->last;
    thread->debt += cost * thread->hot_scale / HOT_SCALE_ONE;
}

/*
 * An exception passed a frame that is not hot. Below hot code it is part of what samples know.
 */
static inline void account_charge_raise(struct lines_thread *thread)
{
    if (thread->hot_since != thread->last)
        clock_charge(&thread->debt, PROBE_LEAVE);
}

/* NULL until the thread's first event. */
extern TLS_FAST struct lines_thread *lines_self;
extern struct lines_thread *lines_threads; /* list head; read with acquire order */

/* Returns this thread's state, made if need be; NULL when memory is out. */
NODISCARD struct lines_thread *account_thread(void);

/*
 * Returns the frame above the top, filled in for a code object that the running line calls, but not
 * pushed; NULL when the code is not registered or memory is out.
 */
NODISCARD struct lines_frame *account_prepare(struct lines_thread *thread, const void *key);

/* Pushes the frame above the top, which fits. */
static inline void account_push_prepared(struct lines_thread *thread, struct lines_frame *frame)
{
    struct line_cell *line = thread->top->line;
    frame->line = line;
    line->covered++;
    frame->start = 0;
    frame->callees = 0;
    frame->table->active++;
    frame->edge->active++;
    thread->top = frame;
}

/* Returns NULL like account_prepare; then the events of the frame are going to be left out. */
struct lines_frame *account_push(struct lines_thread *thread, const void *key);

/* The bucket of a duration: bucket k is for [2^k, 2^(k+1)) ns. */
static inline unsigned account_bucket(uint64_t ticks)
{
    uint64_t ns = ticks * probe_ns_scale; /* fits for half a day and more */
    unsigned bucket = (unsigned)__builtin_clzll(1ull << NS_SCALE_SHIFT) -
                      (unsigned)__builtin_clzll(ns | 1ull << NS_SCALE_SHIFT);
    return bucket < LINE_BUCKETS ? bucket : LINE_BUCKETS - 1;
}

/* A hit took so many ticks, which the correction may have made negative. */
static inline void account_add_hit(struct line_cell *cell, int64_t ticks)
{
    uint64_t taken = ticks < 0 ? 0 : (uint64_t)ticks;
    if (unlikely(taken > cell->longest))
        cell->longest = taken;
    if (unlikely(~taken > cell->shortest_inverted))
        cell->shortest_inverted = ~taken;
    cell->histogram[account_bucket(taken)]++;
}

/* A line is left: if it is an ambiguous one, its hit may go on. */
void account_end_hit(struct line_cell *cell, int64_t ticks);

/* Takes the top frame, which has a line, off the stack. The hit of the line is the caller's. */
static inline void account_pop_started(struct lines_thread *thread, uint64_t now)
{
    struct lines_frame *top = thread->top, *below = top->below;
    struct line_cell *line = top->line;
    struct code_table *table = top->table;
    struct call_edge *edge = top->edge;
    int64_t inside = (int64_t)(now - top->start);
    line->exclusive += (int64_t)(now - thread->last);
    thread->last = now;
    thread->top = below;
    if (likely((uint32_t)line->covered == 0))
        line->inclusive += (int64_t)(now - top->line_start);
    below->line->covered--;
    if (likely(--table->active == 0)) {
        table->inclusive += inside;
        table->debt += thread->debt - top->debt;
    }
    if (likely(--edge->active == 0))
        edge->inclusive += inside;
    edge->exclusive += inside - top->callees;
    below->callees += inside;
}

/* Takes the top frame off the stack, whatever its state; its hit is over. */
void account_pop(struct lines_thread *thread, uint64_t now);

/*
 * A frame begins (PY_START): a call. Its first line follows at once, so no time is needed: until
 * then the line of the caller is running.
 */
void account_start(struct lines_thread *thread, const void *key);

/*
 * The same, called from a code unit of code that is not on the shadow stack, but ran above whatever
 * is on top there.
 */
void account_start_from(struct lines_thread *thread, const void *key, const void *caller,
                        uint32_t unit);

/* account_start when the line called the same code before; otherwise does nothing and returns
 * false. */
static inline bool account_start_plain(struct lines_thread *thread, const void *key)
{
    struct lines_frame *frame = thread->top->above;
    if (unlikely(frame == NULL || frame->key != key || frame->edge->caller != thread->top->line))
        return false;
    account_push_prepared(thread, frame);
    frame->edge->calls++;
    return true;
}

/*
 * A frame is left for good (PY_RETURN, PY_UNWIND). Frames above it on the stack are left too.
 */
void account_leave(struct lines_thread *thread, const void *key, uint64_t now);

/* The same in the plain case; otherwise does nothing and returns false. */
static inline bool account_leave_plain(struct lines_thread *thread, const void *key, uint64_t now)
{
    struct lines_frame *top = thread->top;
    if (unlikely(top->key != key || top->start == 0 || top->line->ambiguous != 0))
        return false;
    account_add_hit(top->line, (int64_t)(now - top->line_start));
    account_pop_started(thread, now);
    return true;
}

/*
 * A frame is suspended (PY_YIELD) and goes on at a code unit (PY_RESUME, PY_THROW): neither a call
 * nor a hit. `frame` is the address of the interpreter's frame. `raw` is the time before the debt
 * is taken out, for frames that one thread leaves and another one resumes. If `wanted` is false,
 * the generator is only being closed, and has waited for nothing.
 */
void account_yield(struct lines_thread *thread, const void *key, const void *frame, uint64_t now,
                   uint64_t raw);
void account_resume(struct lines_thread *thread, const void *key, const void *frame, uint32_t unit,
                    uint64_t now, uint64_t raw, bool wanted);

/*
 * The same for code that is not on the shadow stack: counts suspensions and await time only. What
 * clock_event charged becomes the cost of an event of hot code.
 */
void account_yield_aside(struct lines_thread *thread, const void *key, const void *frame,
                         uint32_t unit, uint64_t now, uint64_t raw);
void account_resume_aside(struct lines_thread *thread, const void *key, const void *frame,
                          uint64_t now, uint64_t raw, bool wanted);

/*
 * Makes a frame of this code the top, for an event that came when it was not: drops the frames
 * above the nearest one, or pushes one for a frame that was entered unseen (profiled while running,
 * or greenlets were switched). Returns -1 when the code is not registered or memory is out.
 */
NODISCARD int account_resynchronise(struct lines_thread *thread, const void *key, uint64_t now);

/*
 * A LINE event for the code on top, at a time before the debt is taken out. Returns the line's cell
 * when the caller has to decide by the instruction whether the event counts (then
 * account_came_back), else NULL.
 */
struct line_cell *account_line(struct lines_thread *thread, int32_t line, uint64_t raw);

/*
 * The same in the plain case: returns how many events the line has had. Otherwise does nothing and
 * returns 0.
 */
static inline uint64_t account_line_plain(struct lines_thread *thread, int32_t line, uint64_t raw)
{
    struct lines_frame *top = thread->top;
    struct line_cell *before = top->line;
    uint32_t index = (uint32_t)(line - top->first_line);
    struct line_cell *cell = top->cells + index;
    uint64_t now;
    if (unlikely(index >= top->n_plain || cell->ambiguous))
        return 0;
    if (likely(top->start != 0)) {
        int64_t hit;
        if (unlikely(before->covered != 0))
            return 0;
        now = clock_event(&thread->debt, cell->probe, raw);
        hit = (int64_t)(now - top->line_start);
        before->inclusive += hit;
        account_add_hit(before, hit);
    } else {
        if (unlikely(top->callees != 0))
            return 0;
        now = clock_event(&thread->debt, cell->probe, raw);
        top->start = now;
        top->debt = thread->debt;
    }
    before->exclusive += (int64_t)(now - thread->last);
    thread->last = now;
    top->line = cell;
    top->line_start = now;
    return ++cell->deliveries;
}

/* Decides about the event at this code unit, which account_line asked about. */
void account_came_back(struct lines_thread *thread, struct line_cell *cell, uint32_t unit);

/* The event at this code unit of an ambiguous line may be a hit of other lines (hit_credit). */
void account_give_credits(struct lines_thread *thread, uint32_t unit);

/* A forked child has one thread and counts for itself. */
void account_after_fork(void);

/* Whether no registered code object has run so far. Takes no lock. */
bool account_is_empty(void);

/* ---- the result --------------------------------------------------------------------------- */

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
    int64_t min; /* of one hit; both 0 when none was timed */
    int64_t max;
    uint64_t samples;
    uint64_t exclusive_error;
    uint64_t inclusive_error;
    uint64_t mark;            /* the last thread whose running frames were added: outermost first */
    double exclusive_squares; /* of the weights of samples */
    double inclusive_squares;
    bool is_timed;                    /* at least one hit */
    bool ran_hot;                     /* also when no sample found it */
    bool calls_hot;                   /* cold, but called what ran hot */
    uint64_t histogram[LINE_BUCKETS]; /* hits by log2 of their ns */
};

/* Calls of a code object from one line; caller 0 = from code that is not profiled. */
struct call_total {
    uint32_t caller; /* code id */
    uint32_t line;
    uint32_t callee; /* code id; 0 = not to be used */
    uint64_t calls;
    int64_t inclusive;
    int64_t exclusive;
    uint64_t mark; /* as in line_total */
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
    uint64_t debt; /* that was taken out of `inclusive` */
    uint64_t mark;
    double exclusive_squares; /* as in line_total */
    double inclusive_squares;
    bool ran_hot;
    struct line_total *lines; /* code->n_lines */
};

struct account_totals {
    struct code_total *codes; /* by code id - 1 */
    uint32_t n_codes;
    struct call_total *edges;
    uint32_t n_edges;
    size_t n_bytes;    /* owned pages */
    size_t edge_bytes; /* owned pages of the edges, if they are not in those; else 0 */
};

/*
 * Adds up what was counted so far. Takes no lock and allocates pages only, so that it can run in a
 * signal handler; other threads may go on counting. `raw` is the time
 * now, before any debt. Returns -1 when memory is out.
 */
NODISCARD int account_sum(struct account_totals *totals, uint64_t raw);
void account_totals_release(struct account_totals *totals);

#endif
