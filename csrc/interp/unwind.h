/*
 * unwind.h - the native stack of an interrupted thread, from the call frame information that
 * compilers leave in .eh_frame.
 *
 * Made for signal handlers: no lock (dl_iterate_phdr takes one that the interrupted thread may
 * hold), no allocation, no file, and every read of foreign memory goes through base/peek.h. Where
 * to find the tables of which code is read from /proc/self/maps, outside of handlers. What is
 * understood is what compilers write: anything else ends the walk.
 */
#ifndef PROFTRACE_INTERP_UNWIND_H
#define PROFTRACE_INTERP_UNWIND_H

#include "interp/unwind_row.h"

struct unwind_frame {
    uintptr_t pc;
    bool is_interrupted; /* pc is where it stands; else where a call comes back to */
    uintptr_t registers[UNWIND_REGISTERS];
};

#define UNWIND_ROWS 256u /* a power of two */

/* What one thread remembers; all zero is a valid empty one. */
struct unwind {
    struct peek *peek; /* borrowed */
    struct unwind_row rows[UNWIND_ROWS];
};

/* Reads which code is where; to be called again when unwind_is_outdated. -1: not to be had. */
NODISCARD int unwind_read_objects(void);

/* Whether a walk met code that is in no object known; it may have been loaded since. */
NODISCARD bool unwind_is_outdated(void);

/* The frame that a signal handler interrupted; `context` is its third argument. */
void unwind_start(struct unwind_frame *frame, const void *context);

/* The row of a frame, borrowed until the next call; never NULL, but it may be !is_known. */
const struct unwind_row *unwind_row_of(struct unwind *unwind, const struct unwind_frame *frame);

/* Goes on to the caller. False: there is none, or it cannot be found. */
NODISCARD bool unwind_step(struct unwind *unwind, struct unwind_frame *frame);

/* The procedure that an address is in, as [start, end). False: not known. */
NODISCARD bool unwind_procedure(struct unwind *unwind, uintptr_t at, uintptr_t *start,
                                uintptr_t *end);

/*
 * Whether a procedure is a part that a compiler split off (.cold): control comes by a jump, with a
 * frame already there.
 */
NODISCARD bool unwind_is_fragment(struct unwind *unwind, uintptr_t start);

#endif
