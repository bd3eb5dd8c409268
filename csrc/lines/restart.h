/*
 * restart.h - a forked child counts from nothing: what its parent had counted stays the parent's.
 *
 * The frames of the thread that forked go on in the child, so their lines stay on the shadow stack,
 * with the time of the fork as their start. Code that was hot is to be cold before (regime_cool).
 */
#ifndef PROFTRACE_LINES_RESTART_H
#define PROFTRACE_LINES_RESTART_H

#include <stdint.h>

/* In the child, after account_after_fork; `raw` is the time. */
void account_restart(uint64_t raw);

#endif
