/*
 * sample_weight.h - what a sample in a signal handler stands for: the CPU time since the one
 * before, and what the thread had to wait for a processor besides. That is the program's, whatever
 * was running: when a sample is discarded, the next one that finds hot code takes it.
 *
 * Called by the handler of the thread, after its walk.
 */
#ifndef PROFTRACE_LINES_SAMPLE_WEIGHT_H
#define PROFTRACE_LINES_SAMPLE_WEIGHT_H

#include "lines/sample_thread.h"

/* CPU time in ns since the last sample; 0: this one is not to be used. Called before the walk. */
uint64_t weight_of_sample(struct sample_thread *self, bool is_tick, uint64_t cpu_ns);

/* Tells the clock of cold lines what a sample says. */
void weight_learn_debt(struct sample_thread *self, uint64_t weight_ns, bool is_lost);

/* The sample is discarded. */
void weight_put_wait_aside(struct sample_thread *self, uint64_t weight_ns);

/* The sample is kept: all that it stands for, in ticks. */
uint64_t weight_take(struct sample_thread *self, uint64_t weight_ns);

#endif
