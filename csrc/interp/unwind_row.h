/*
 * unwind_row.h - what the call frame information of an object (.eh_frame) says about one address:
 * how to get from a frame that stands there to its caller's.
 */
#ifndef PROFTRACE_INTERP_UNWIND_ROW_H
#define PROFTRACE_INTERP_UNWIND_ROW_H

#include "base/peek.h"

/* By DWARF number; the stack pointer is among them, the program counter is apart. */
#if defined(__aarch64__)
#define UNWIND_REGISTERS 32u
#define UNWIND_SP 31u
#else
#define UNWIND_REGISTERS 16u
#define UNWIND_SP 7u
#endif

/* How to get from a frame to its caller's, and the procedure it is in. */
struct unwind_row {
    uintptr_t pc; /* that it is for; 0 = empty */
    uintptr_t start, end;
    int32_t cfa_offset;
    uint8_t cfa_register;
    bool cfa_is_loaded;    /* the CFA is what lies at register + offset */
    bool is_known;         /* false: no table has this pc, or it says what we do not understand */
    uint32_t saved;        /* bit a register: at CFA + offsets[] */
    uint32_t generation;   /* of the table of objects when it was made */
    int16_t return_offset; /* CFA-relative; 0 = still in the link register */
    int16_t offsets[UNWIND_REGISTERS];
};

/*
 * Fills in everything but pc and generation, from the object whose .eh_frame_hdr is at `index`.
 * start and end are 0 when it has no procedure there.
 */
void row_read(struct peek *peek, uintptr_t index, uintptr_t pc, struct unwind_row *row);

#endif
