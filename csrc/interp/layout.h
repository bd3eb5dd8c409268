/*
 * layout.h - where CPython keeps what a stack is made of: the only file that knows its versions.
 *
 * 3.13 and newer publish most of it in _PyRuntime (_Py_DebugOffsets, whose own layout changes with
 * each minor version); the rest, and all of 3.12, is a table by version.
 */
#ifndef PROFTRACE_INTERP_LAYOUT_H
#define PROFTRACE_INTERP_LAYOUT_H

#include "base/compiler.h"
#include "interp/binding.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OWNER_THREAD 0 /* frame_owner: it is on the stack of its thread */

/* Offsets in bytes. */
struct interp_layout {
    /* thread state */
    uint32_t state_frame;   /* the current frame, or the link to what holds it */
    bool frame_is_indirect; /* 3.12: state_frame leads to a struct whose first word is the frame */
    uint32_t state_interp;
    uint32_t state_anchor;     /* a frame: replaced by its caller when it is popped; 0 = none */
    uint32_t state_anchor_seq; /* word that counts these replacements */
    /* interpreter state */
    uint32_t interp_id;       /* i64, never used twice in a process; 0 is the main interpreter's */
    uint32_t generation;      /* u64 that grows when a code object dies; 0 = there is none */
    uint32_t tlbc_generation; /* u32 that grows when copies of bytecode die; 0 = there is none */
    /* _PyInterpreterFrame */
    uint32_t frame_code;
    uint32_t frame_previous;
    uint32_t frame_ip;
    uint32_t frame_locals; /* where frames may carry a mark, see frame_marks.h; 0 = nowhere */
    uint32_t frame_owner;  /* char */
    uint32_t frame_tlbc;   /* i32: which of the code's copies runs; 0 = there is one copy */
    uint8_t owner_generator;
    uint8_t owner_shim; /* this and all above: pushed by C code, has no Python code */
    /* PyCodeObject */
    uint32_t code_flags;
    uint32_t code_first_line;
    uint32_t code_file;
    uint32_t code_name;
    uint32_t code_qualname;
    uint32_t code_linetable;
    uint32_t code_first_traceable; /* int: units before it belong to the frame's set-up */
    uint32_t code_units;
    uint32_t code_tlbc; /* pointer to the table of copies: their number, then their addresses */
    /* str and bytes */
    uint32_t text_length;
    uint32_t text_state;
    uint8_t text_kind_bit; /* of the state: kind:3, compact:1, ascii:1 from there on */
    uint32_t text_ascii;   /* where the characters of an ASCII string start */
    uint32_t text_compact; /* the same of all others */
    uint32_t bytes_length;
    uint32_t bytes_start;
};

/*
 * Fills in the layout of the interpreter behind the binding. NULL, or a reason (static text) why
 * its stacks cannot be read.
 */
NODISCARD const char *layout_find(struct interp_layout *layout,
                                  const struct interp_binding *binding);

/* Reads of the interpreter's memory: the address and type are only known to the layout. */
static inline uintptr_t read_word(uintptr_t at)
{
    uintptr_t value;
    memcpy(&value, (const void *)at, sizeof value);
    return value;
}

/* The only writes: the marks of frames.h and the anchor of anchor.h. */
static inline void write_word(uintptr_t at, uintptr_t value)
{
    memcpy((void *)at, &value, sizeof value);
}

static inline uint32_t read_u32(uintptr_t at)
{
    uint32_t value;
    memcpy(&value, (const void *)at, sizeof value);
    return value;
}

static inline uint8_t read_u8(uintptr_t at)
{
    return *(const uint8_t *)at;
}

#endif
