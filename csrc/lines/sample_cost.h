/*
 * sample_cost.h - what a signal takes besides our handler: the interrupt, the kernel, the way back.
 *
 * On some virtual machines that is ten times as long as the handler, and the thread's CPU clock
 * counts it as the program's. It is measured once, taken out of what samples stand for, and the
 * pace of sampling follows it.
 */
#ifndef PROFTRACE_LINES_SAMPLE_COST_H
#define PROFTRACE_LINES_SAMPLE_COST_H

#include "lines/sample_thread.h"

/* In ns; 0 while it is not known. */
extern uint64_t sample_delivery_ns;

/*
 * Measures it in the calling thread, which has no perf event yet, in about 15 ms; leaves it as it
 * is where there are no perf events.
 */
void sample_measure_delivery(struct sample_thread *self);

#endif
