/*
 * counting.h - what the callbacks of INSTRUCTION and RAISE do with a table of counters
 * (lines/counters.h); shared by the tracer and by the self-check of its counts.
 */
#ifndef PROFTRACE_PYTHON_COUNTING_H
#define PROFTRACE_PYTHON_COUNTING_H

#include "python/compat.h"

#include "lines/counters.h"

/* INSTRUCTION (code, offset): false when the event should be disabled at this place. */
static inline bool counting_pass(const struct counters_table *table, PyObject *const *args)
{
    return counters_pass(counters_find(table, args[0]), compat_offset(args[1]) / 2);
}

/*
 * RAISE (code, offset, exception): an exception leaves an instruction. Which one is asked of the
 * frame, since the offset of an exception that comes out of a call is that of the unit before it.
 * Returns whether the code has counters.
 */
static inline bool counting_raise(const struct counters_table *table, PyObject *const *args)
{
    const struct counters_slot *slot = counters_find(table, args[0]);
    uint32_t instr;
    if (likely(slot->key == NULL))
        return false;
    instr = counters_instr(slot->counters, (uint32_t)compat_running_unit());
    if (slot->counters->may_stop[instr] &&
        PyErr_GivenExceptionMatches(args[2], PyExc_StopIteration))
        return true;
    slot->counters->losses[instr]++;
    return true;
}

#endif
