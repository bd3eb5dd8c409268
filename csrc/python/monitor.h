/*
 * monitor.h - from sys.monitoring to lines/account.h: claims a tool id, subscribes code objects,
 * and receives the events in C.
 *
 * Events are local: code that was not registered runs as if we were not there. Only exceptions
 * that leave a frame or enter a generator have to be heard of globally before CPython 3.15, and
 * only while something is registered.
 */
#ifndef PROFTRACE_PYTHON_MONITOR_H
#define PROFTRACE_PYTHON_MONITOR_H

#include "python/compat.h"

#include "base/compiler.h"

#include <stdbool.h>

/*
 * Claims an id and installs the callbacks, unless that is so already. -1 with an exception set
 * (RuntimeError: none free).
 */
NODISCARD int monitor_start(void);

/* Whether there is an id. Without one no code has events, and none can be subscribed. */
NODISCARD bool monitor_is_on(void);

/*
 * Gives the id back, with its callbacks and global events; all local ones have to be away. -1 with
 * an exception set.
 */
NODISCARD int monitor_release(void);

/* MONITOR_START: only when it starts, to decide about it then (newcomers.h). */
enum monitor_events { MONITOR_NOTHING, MONITOR_COLD, MONITOR_HOT, MONITOR_START };

/* Sets the local events of any code object, registered or not. -1 with an exception set. */
NODISCARD int monitor_subscribe_local(PyCodeObject *code, enum monitor_events events);

/* Hears of every code object that starts, so that newcomers.h can decide. -1, exception set. */
NODISCARD int monitor_watch_starts(void);

/* Subscribes a code object that is in the registry. -1 with an exception set. */
NODISCARD int monitor_subscribe(PyCodeObject *code);

#endif
