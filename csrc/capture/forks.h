/*
 * forks.h - what fork means for a capture: the child forgets it and, where children are followed,
 * begins one of its own at its first event.
 */
#ifndef PROFTRACE_CAPTURE_FORKS_H
#define PROFTRACE_CAPTURE_FORKS_H

#include "base/compiler.h"

#include <stdbool.h>

/* Once a process. -1: the system takes no more fork handlers. */
NODISCARD int forks_watch(void);

/* This process records: its memory is not a copy of that of another one that does. */
void forks_own_memory(void);

/* Whether this is a forked child that was counted as one that is not recorded. */
bool forks_child_is_counted(void);

/* Whether a child that was made past the handlers is noticed: the kernel can wipe memory in it. */
bool forks_are_seen(void);

#endif
