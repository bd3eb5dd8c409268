/*
 * unwind_rules.h - how to get from a frame to its caller's: call frame information, as compilers
 * leave it in .eh_frame for exceptions, boiled down to one small rule for each return address.
 *
 * Why not a library: reading a rule takes a microsecond and is done once for each address; all
 * that is left for an allocation is to follow rules that are known, which takes no lock, no system
 * call and no dl_iterate_phdr. So it is safe within dlopen, in signal handlers and in the C
 * library. Only the stack pointer, the frame pointer and the return address are followed: no
 * ordinary function needs more to find its caller.
 */
#ifndef PROFTRACE_CAPTURE_UNWIND_RULES_H
#define PROFTRACE_CAPTURE_UNWIND_RULES_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rule_kind {
    RULE_UNKNOWN,   /* nobody says: try the frame pointer */
    RULE_END,       /* the outermost frame */
    RULE_SP,        /* base = stack pointer + base_offset */
    RULE_FP,        /* base = frame pointer + base_offset */
    RULE_FP_LOADED, /* base = what is stored at frame pointer + base_offset */
    RULE_SIGNAL,    /* everything is in what the kernel saved */
};

enum saved_kind {
    SAVED_NOT,     /* the register still has the caller's value */
    SAVED_AT_BASE, /* at base + offset */
    SAVED_AT_FP,   /* at frame pointer + offset */
};

/* base = the caller's stack pointer, which DWARF calls the canonical frame address. */
struct unwind_rule {
    uint8_t kind;       /* enum rule_kind */
    uint8_t fp_kind;    /* enum saved_kind */
    uint8_t ra_in_link; /* the return address is in the link register */
    int32_t base_offset;
    int32_t fp_offset;
    int32_t ra_offset; /* from base */
};

/*
 * The rule for a frame that stands at `at` (inside its call instruction, or exactly), from the
 * module's .eh_frame_hdr. Also the bounds of the function's part that `at` is in; 0, 0 if unknown.
 */
struct unwind_rule unwind_rule_read(const uint8_t *eh_frame_hdr, uintptr_t at, uintptr_t *start,
                                    uintptr_t *end);

#endif
