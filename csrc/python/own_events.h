/*
 * own_events.h - the events are ours: a program that switches off those of all tools, or frees all
 * tool ids, would have its lines counted up to there, without a word. It is told that it is done,
 * and the result says so.
 */
#ifndef PROFTRACE_PYTHON_OWN_EVENTS_H
#define PROFTRACE_PYTHON_OWN_EVENTS_H

#include "python/compat.h"

#include "base/compiler.h"

/*
 * Keeps calls with this tool id from the functions of sys.monitoring that take events, callbacks or
 * the id away. To be called when all that we call there ourselves is known. -1 with an exception
 * set.
 */
NODISCARD int own_events_guard(int our_tool_id);

/* Ends that: the id is going to be given back. */
void own_events_release(void);

#endif
