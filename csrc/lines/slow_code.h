/*
 * slow_code.h - busy code that the clock times for next to nothing: its lines take long.
 *
 * An event costs some tens of ns. Where that is a small part of what passes between two of them,
 * the clock is off by next to nothing and sees every hit, while samples are as few as anywhere;
 * counting by blocks would not be cheaper either. Such code stays cold, and who calls it too: one
 * instrument for both, so that their times agree.
 */
#ifndef PROFTRACE_LINES_SLOW_CODE_H
#define PROFTRACE_LINES_SLOW_CODE_H

#include "lines/registry.h"

/*
 * Whether a code object that had enough events to turn hot should stay with the clock, by what
 * happened since the last time that this was asked. All other threads stand still (GIL).
 *
 * Not if it calls hot code: then its own time is the clock's less that of many samples, and has all
 * of their error.
 */
bool slow_code_suits_clock(struct lines_code *code);

#endif
