/*
 * sample_error.h - how wrong a time can be that samples gave. Pure arithmetic, without libm.
 *
 * Samples come at random, so how many of them find a line is Poisson's number. Its root is one
 * standard deviation of it, but says nothing of a line that few samples found: none at all does not
 * mean no time. The error here is the distance to the upper limit of the expectation, for which one
 * deviation is promised on each side (Gehrels 1986): 1 + root(n + 3/4) for n samples, or one gap
 * between samples and the root of the squares of their weights.
 */
#ifndef PROFTRACE_LINES_SAMPLE_ERROR_H
#define PROFTRACE_LINES_SAMPLE_ERROR_H

#include <stdint.h>

/*
 * Adds the error of a time from samples to one that knows nothing of it: `squares` is the sum of
 * their squared weights; `gap`, the time between two samples, is 0 where no time is from samples.
 */
uint64_t sample_add_error(uint64_t error, double squares, double gap);

#endif
