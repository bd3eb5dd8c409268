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

/*
 * In ns; 0 while it is not known. Written once, before there is a helper thread and before another
 * thread is sampled.
 */
extern uint64_t sample_delivery_ns;

/* CPU time of the same work twice: without signals, and with so many of them. */
struct cost_round {
    uint64_t plain_ns;
    uint64_t interrupted_ns;
    uint32_t n_signals;
};

/* What a signal takes, in ns, by the median of some rounds; 0 when they do not say. */
uint64_t cost_of_rounds(const struct cost_round *rounds, uint32_t n);

/*
 * Measures it in the calling thread, which has no clock yet, in about 15 ms, which no sample is
 * going to stand for; does nothing where there are no perf events.
 */
void sample_measure_delivery(struct sample_thread *self);

#endif
