/*
 * signals.h - what signals may do to a capture: end the process, interrupt the lock's owner, and
 * leave a hook by a jump.
 */
#ifndef PROFTRACE_CAPTURE_SIGNALS_H
#define PROFTRACE_CAPTURE_SIGNALS_H

#include <signal.h>

/*
 * Lets the signals that are meant to end a process close the log first, where their action is the
 * default one. A handler of the program takes the place of ours.
 */
void signals_watch(void);
/* Gives the actions back that are still ours. */
void signals_unwatch(void);

/* Holds back everything but what the program's own faults raise; `before` is for signals_allow. */
void signals_block(sigset_t *before);
void signals_allow(const sigset_t *before);

#endif
