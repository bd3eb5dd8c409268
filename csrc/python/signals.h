/*
 * signals.h - keeps the signal of the sampler out of the program's way: signal.signal and
 * signal.pthread_sigmask tell us before they do what they always did.
 */
#ifndef PROFTRACE_PYTHON_SIGNALS_H
#define PROFTRACE_PYTHON_SIGNALS_H

#include "python/compat.h"

/*
 * Replaces the two functions in the module _signal, once. It is no failure when that cannot be
 * done: what the program does is noticed a little later then.
 */
void signals_install(void);

#endif
