/*
 * sample_thread.h - the sampler's own view of a thread; shared by sample.c (the thread itself, and
 * its signal handler) and sample_blocked.c (the helper thread).
 */
#ifndef PROFTRACE_LINES_SAMPLE_THREAD_H
#define PROFTRACE_LINES_SAMPLE_THREAD_H

#include "interp/unwind.h"
#include "lines/account.h"
#include "lines/sample_debt.h"
#include "lines/sample_meter.h"
#include "lines/sample_park.h"
#include "lines/sample_walk.h"
#include "lines/sample_wake.h"

/* What the helper thread knows of one thread; it alone touches it. */
struct sample_look {
    uint64_t next_ns; /* when to look again */
    uint64_t mean_ns; /* of the random time between the last look and that one */
    uint64_t start_ns, start_cpu_ns;
    uint64_t cpu_ns;           /* CPU time at the last look */
    uint64_t start_delay_ns;   /* time it had waited for a processor, at the start, */
    uint64_t delay_ns;         /* and when it was last asked for */
    uint64_t off_ns;           /* blocked so far, and */
    uint64_t n_waits;          /* how often it had begun to wait, then */
    uint64_t stretch_delay_ns; /* that time, and the CPU time, when `stretch` was last set */
    uint64_t delay_cpu_ns;
    uint64_t known_ns;         /* charged for waits: what is known, */
    uint64_t weighed_ns;       /* and what is estimated, before the correction */
    uint32_t n_handled;        /* signals when its perf event was armed, or could not be */
    uint64_t pace_cpu_ns;      /* CPU time then */
    uint64_t n_hot, n_all;     /* samples that found hot code, and of all, then */
    uint32_t mask_handled;     /* signals when it was last thought about whether it blocks them */
    uint64_t mask_cpu_ns;      /* CPU time then */
    struct park park;          /* the wait in which the last look found it, at `walk` */
    struct sample_clock clock; /* where a clock of cold code is running, while it waits */
    struct sample_walk walk;
};

enum thread_life { THREAD_IDLE, THREAD_ALIVE, THREAD_ENDED };

struct sample_thread {
    struct sample_tally tally;  /* written by its handler; kept when the thread ends */
    struct sample_thread *next; /* of all there ever were */
    struct sample_thread *next_idle;
    uint32_t alive; /* atomic: enum thread_life */
    uint32_t lock;  /* atomic: the helper is looking, or the clocks are started anew */
    pid_t tid;
    uintptr_t state; /* its thread state in the interpreter; atomic */
    struct lines_thread *account;
    struct wake wake;
    uint32_t stretch;   /* atomic: time able to run over CPU time, lately; 16 binary places */
    uint64_t period_ns; /* atomic: of its perf event, 0 = none */
    uint32_t n_armed;   /* atomic: counts perf events */
    bool is_unheard;    /* atomic: no signal of ours reaches it (sample_reach.h) */
    /* of the handler */
    uint32_t is_learning;
    int learn_result;
    uint32_t is_measuring; /* atomic: what signals cost; they are counted here, and no more */
    uint32_t n_measured;   /* atomic */
    uint32_t n_handled;    /* atomic: signals; without those */
    uint32_t n_armed_seen;
    uint64_t period_seen_ns; /* of the event that fired last */
    uint64_t cost_ns;        /* CPU time of all of them */
    uint64_t start_cpu_ns;
    struct sample_meter meter;
    struct sample_debt debt;
    uint64_t waited_ns; /* for a processor, of discarded samples: goes to the next one */
    struct unwind unwind;
    struct sample_walk walk;
    struct sample_look look;
};

extern struct sample_thread *sample_threads; /* list head; read with acquire order */
extern struct sample_host sample_host;
extern uint32_t sample_is_running; /* atomic */

/* CPU time of any thread of this process; 0 = it is gone. */
uint64_t sample_cpu_ns(pid_t tid);

#define STRETCH_SHIFT 16

/* CPU time and what the thread lately had to wait for a processor besides. */
static inline uint64_t sample_stretch(const struct sample_thread *thread, uint64_t cpu_ns)
{
    return cpu_ns * __atomic_load_n(&thread->stretch, __ATOMIC_RELAXED) >> STRETCH_SHIFT;
}

/* ns of CPU time or of time off the CPU, in ticks. */
uint64_t sample_ticks(uint64_t ns);

/* Where the clock of cold code runs in a thread that stands still, or is the calling one. */
void sample_find_clock(const struct lines_thread *account, struct sample_clock *clock);

/* Whether a callback is running, by the thread state. */
NODISCARD bool sample_is_tracing(struct peek *peek, uintptr_t state);

/* Takes and gives back the right to look at a thread, or to start its clocks. */
void sample_lock(struct sample_thread *thread);
void sample_unlock(struct sample_thread *thread);

/* The helper thread, or who takes its place, looks at a thread from now on, at this CPU time. */
void sample_look_anew(struct sample_thread *thread, uint64_t cpu_ns);

/* Makes a thread that has ended ready for another one. */
void sample_bury(struct sample_thread *thread);

/* ---- sample_blocked.c ----------------------------------------------------------------------- */

/* Starts the helper thread; -1 when it cannot be. */
NODISCARD int helper_start(void);
/* Samples a thread from now on, before the helper has had a look at it. The helper must not run. */
void helper_pace_first(struct sample_thread *thread);
/* Asks it to end; `wait` until it is gone. */
void helper_stop(bool wait);
/* In a forked child, which has none. */
void helper_after_fork(void);

#endif
