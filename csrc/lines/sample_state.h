/*
 * sample_state.h - what /proc says about a thread of this process: whether it waits for a
 * processor or for something else, and for how long altogether it has waited for one.
 */
#ifndef PROFTRACE_LINES_SAMPLE_STATE_H
#define PROFTRACE_LINES_SAMPLE_STATE_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether it could run if there were a free processor. False if it waits for something, or ended.
 */
bool state_is_runnable(pid_t tid);

/* Time that it was able to run but did not; 0 where the system does not keep it. */
uint64_t state_delay_ns(pid_t tid);

/* How often it gave up its processor to wait for something; UINT64_MAX where nobody counts that. */
uint64_t state_n_waits(pid_t tid);

/* Whether it blocks a signal. */
bool state_blocks(pid_t tid, int signal);

#endif
