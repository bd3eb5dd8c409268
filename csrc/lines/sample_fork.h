/*
 * sample_fork.h - the program forks: our own threads are away until that is over.
 *
 * os.fork warns when the process has other threads, and counts them after its hooks in Python
 * (os.register_at_fork) have run (3.13.5), which give pending calls their turn.
 */
#ifndef PROFTRACE_LINES_SAMPLE_FORK_H
#define PROFTRACE_LINES_SAMPLE_FORK_H

#include "interp/frames.h"

/* How to look at frames (NULL: not at all) and Py_AddPendingCall; before the first fork. */
void fork_prepare(const struct frame_reader *reader,
                  int (*soon)(int (*function)(void *), void *argument));

/* Before fork, in the thread that forks: ends our threads. May be called twice. */
void fork_pause(void);

/* After it, in the parent: our threads are started again as soon as the fork is over. */
void fork_resume(void);

#endif
