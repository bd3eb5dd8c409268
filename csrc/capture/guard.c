/* guard.c - see guard.h. */
#include "capture/guard.h"

#include <signal.h>
#include <stddef.h>

TLS_FAST uintptr_t guard_holder;

bool guard_enter_slow(uintptr_t sp)
{
    stack_t alternate;
    if (sp <= guard_holder)
        return false; /* deeper than the holder: it is still there */
    /* Higher up: the holder is gone, unless this is a signal handler on a stack of its own. */
    if (sigaltstack(NULL, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK))
        return false;
    guard_holder = sp;
    return true;
}
