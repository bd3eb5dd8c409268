/*
 * sample_wake.h - what interrupts a thread: the signal, and the clocks that send it.
 *
 * Two clocks, which the kernel runs only while the thread runs, and neither of which cuts a system
 * call short:
 * - A perf event on the thread's task clock, as fine as is wanted, that fires in user mode only.
 *   Its descriptor is closed at once: a mapping of one page keeps it alive, so that nothing of it
 * is among the program's files.
 * - A POSIX timer on the thread's CPU clock, which only sees the ticks of the system (100 to 1000 a
 *   second), in user mode and in the kernel; its signal is sent when the thread comes back to user
 *   mode. It needs Linux 5.11: before, the signal could end a system call.
 */
#ifndef PROFTRACE_LINES_SAMPLE_WAKE_H
#define PROFTRACE_LINES_SAMPLE_WAKE_H

#include "base/compiler.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum wake_cause {
    WAKE_FOREIGN, /* somebody else's signal */
    WAKE_PERF,
    WAKE_TICK,
};

/* What a thread has; all zero = nothing. */
struct wake {
    void *perf_page; /* atomic; NULL = no perf event */
    timer_t timer;
    uint32_t has_timer; /* atomic */
};

typedef void (*wake_handler)(int number, siginfo_t *info, void *context);

/*
 * Takes a signal that nobody uses and finds out which of the wanted clocks there are. NULL, or why
 * there are none (static text).
 */
NODISCARD const char *wake_start(wake_handler handler, bool wants_perf, bool wants_ticks);

/* Gives the signal back, if nothing can go wrong with that. */
void wake_stop(void);

/* The same for a while: wake_signal_moved takes one again. */
void wake_rest(void);

/*
 * To be called now and then: whether the program has taken our signal for itself. Then another one
 * has been taken by now, or there is none, and all threads have to be armed anew.
 */
NODISCARD bool wake_signal_moved(void);

/* The program is going to use this signal: the same, if it is ours. */
NODISCARD bool wake_spare_signal(int wanted);

/* Whether a thread cannot be interrupted: it blocks our signal, or there is none. */
NODISCARD bool wake_is_blocked(pid_t tid);

/* The CPU clock of any thread of this process; a pthread_t is not to be had for each of them. */
clockid_t wake_cpu_clock(pid_t tid);

/* The signal's number; 0 = none. */
int wake_signal(void);
bool wake_has_perf(void);
bool wake_has_ticks(void);

/* Starts a thread's timer. */
void wake_arm_ticks(struct wake *wake, pid_t tid);

/* Starts, or replaces, a thread's perf event with one of this period of CPU time. -1: failed. */
NODISCARD int wake_arm_perf(struct wake *wake, pid_t tid, uint64_t period_ns);

void wake_disarm(struct wake *wake);

/* In a forked child: it has no clocks of ours, and gets no signal. */
void wake_forget(struct wake *wake);

enum wake_cause wake_cause_of(const siginfo_t *info, const struct wake *wake);

/* Sends our signal to the calling thread, whose handler runs before this returns. -1: it cannot. */
NODISCARD int wake_self(pid_t tid);

#endif
