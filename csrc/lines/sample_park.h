/*
 * sample_park.h - what one wait of a thread took, of which looks at random moments saw a part. Pure
 * arithmetic, without libm.
 *
 * Between two looks that find a thread at the same CPU time it did nothing but wait where it
 * stands: so much is known. What is left are the edges: from the look before the wait, and to the
 * one behind it. How long the thread was off the processors meanwhile is known as well, and where
 * it did not wait for something else too, that is the edge. A wait that only one look saw stands
 * for those that none saw, so that the sum over many is right on average whatever their length:
 *
 *     one look     L + L * P0 / P1 with both edges known (P0, P1: the chance that none or one
 *                  sees it), else the mean of the time to that look
 *     two or more  what is known, and for an edge that is not: the mean of the time to the look
 */
#ifndef PROFTRACE_LINES_SAMPLE_PARK_H
#define PROFTRACE_LINES_SAMPLE_PARK_H

#include <stdbool.h>
#include <stdint.h>

/* All times in ns. */
struct park {
    uint32_t n_looks; /* that found it; 0: there is no wait */
    uint64_t first_ns, last_ns;
    uint64_t first_mean_ns, second_mean_ns; /* of the random times to the first two looks */
    uint64_t lead_ns;                       /* off the processors before the first look */
    bool is_lead_known;                     /* not a moment of it was another wait */
};

/* What happened between two looks. */
struct park_gap {
    uint64_t off_ns;  /* off the processors, without what was waited for one */
    uint64_t n_waits; /* that began in it */
    bool is_shared;   /* there may be one more, at its other end */
};

/* What is charged: to the last ns, and as an estimate. */
struct park_charge {
    uint64_t known_ns, guess_ns;
};

/* A look finds the thread waiting; `mean_ns` of the time to this look, and to the next one. */
void park_begin(struct park *park, uint64_t now_ns, uint64_t mean_ns, uint64_t next_mean_ns,
                const struct park_gap *before);

/* Another look finds it there, at the same CPU time. */
struct park_charge park_again(struct park *park, uint64_t now_ns);

/* A look finds that it went on. `gap` NULL: nobody knows what came then. */
struct park_charge park_end(struct park *park, uint64_t mean_ns, const struct park_gap *gap);

#endif
