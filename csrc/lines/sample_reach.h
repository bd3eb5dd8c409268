/*
 * sample_reach.h - whether signals of ours reach a thread, and what is done when they do not.
 *
 * A thread can block our signal, the program can use all that we could take, and the system can
 * have no timer left. Then the helper thread looks at the thread while it runs; it takes over from
 * the handler, and hands over to it, at a moment of CPU time, so that each is charged once.
 */
#ifndef PROFTRACE_LINES_SAMPLE_REACH_H
#define PROFTRACE_LINES_SAMPLE_REACH_H

#include "lines/sample_thread.h"

/* Whether the calling thread blocks our signal, or there is none. */
NODISCARD bool reach_is_blocked_here(void);

/*
 * Starts the clocks of a thread anew: the signal is another one, or is blocked or not any more.
 * These three need the right to look at the thread (sample_lock).
 */
void reach_arm(struct sample_thread *thread, bool is_blocked);

/* It could get no clock: the helper looks at it, and tries again later. */
void reach_lost(struct sample_thread *thread);

/* Finds out now and then, by its CPU time, whether a thread that is not heard of is reached. */
void reach_watch(struct sample_thread *thread, uint64_t cpu_ns);

/* Starts the clocks of all threads anew. */
void reach_arm_all(void);

#endif
