/*
 * saver.h - writes the result every now and then, so that a process that is killed leaves one.
 *
 * A thread of our own that needs no Python. It is away while the process forks (sample_fork.h).
 */
#ifndef PROFTRACE_LINES_SAVER_H
#define PROFTRACE_LINES_SAVER_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* Saves every so many ns from now on; -1 when no thread can be started. */
NODISCARD int saver_start(uint64_t interval_ns);

/* Ends the thread for good. Any thread may call it, a signal handler too. */
void saver_stop(void);

/* Before a fork: ends the thread and waits for that. True: saver_resume is to be called after. */
bool saver_pause(void);
void saver_resume(void);

/* In a forked child, which has no such thread. */
void saver_after_fork(void);

#endif
