/*
 * subscribing.h - code gets its first events, one code object after the other.
 *
 * Without the GIL threads register and run the same code at the same time. One that meets code that
 * another one has registered, and not subscribed yet, does so itself, since it must not run on
 * unheard; and code that was subscribed meanwhile is not taken back to awaiting its start.
 */
#ifndef PROFTRACE_PYTHON_SUBSCRIBING_H
#define PROFTRACE_PYTHON_SUBSCRIBING_H

#include "python/compat.h"

#include "base/compiler.h"
#include "lines/registry.h"

#include <stdbool.h>

/* Whether it was subscribed for the first time. */
static inline bool subscribing_is_complete(const struct lines_code *code)
{
    return __atomic_load_n(&code->is_complete, __ATOMIC_ACQUIRE);
}

/* Subscribes a code object unless that was done, if there is an id. -1 with an exception set. */
NODISCARD int subscribing_complete(struct lines_code *code);

/* Lets a code object, unless it is registered, await its start. -1 with an exception set. */
NODISCARD int subscribing_await_start(PyCodeObject *code);

/* A forked child is alone: the lock may have been held by a thread that is gone. */
void subscribing_after_fork(void);

#endif
