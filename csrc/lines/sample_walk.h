/*
 * sample_walk.h - the profiled frames of a stack that may be changing: of the own thread inside its
 * signal handler, or of another one.
 */
#ifndef PROFTRACE_LINES_SAMPLE_WALK_H
#define PROFTRACE_LINES_SAMPLE_WALK_H

#include "base/peek.h"
#include "lines/sample_tally.h"

#define MOST_PLACES                                                              \
    16384u /* profiled frames; the root-most ones of a deeper stack are left out \
            */

struct sample_walk {
    const struct frame_reader *reader; /* borrowed */
    struct peek peek;
    uintptr_t top;    /* the innermost frame, profiled or not; 0 = none */
    uintptr_t top_ip; /* where it stands */
    uint32_t n;
    struct sample_place places[MOST_PLACES];
};

/*
 * Fills in the places of the frame chain that starts at `top`. False when it cannot be followed to
 * its root because it was being changed; then the places are of no use.
 */
NODISCARD bool walk_chain(struct sample_walk *walk, uintptr_t top);

#endif
