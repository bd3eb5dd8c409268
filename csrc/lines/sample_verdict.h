/*
 * sample_verdict.h - what a sample was: the program at work, or instrumentation.
 *
 * Where the interpreter calls a callback, it is in functions that have no visible name. They are
 * learned: all procedures between a callback of ours and the evaluation loop, on a native stack
 * that is looked at once for each kind of event. A sample is instrumentation if one of them, or
 * code of ours, is between where it stands and the loop.
 */
#ifndef PROFTRACE_LINES_SAMPLE_VERDICT_H
#define PROFTRACE_LINES_SAMPLE_VERDICT_H

#include "interp/unwind.h"

/* Says where the evaluation loop and an ordinary call are. 0, or -1: their code is not known. */
NODISCARD int verdict_prepare(struct unwind *unwind, uintptr_t eval_loop, uintptr_t ordinary_call);

/* Learns from a stack with a callback of ours on it; in a signal handler. -1: not understood. */
NODISCARD int verdict_learn(struct unwind *unwind, const void *context);

/* Whether the interrupted thread was in instrumentation; in a signal handler. */
NODISCARD bool verdict_is_overhead(struct unwind *unwind, const void *context);

#endif
