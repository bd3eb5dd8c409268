/*
 * text.h - str and bytes objects read as memory: what a code object says about itself.
 *
 * No reference is taken and no function of CPython is called, so this works inside malloc while
 * the interpreter is in the middle of anything. The object must be alive: the caller's frame (or
 * the code object itself) holds it.
 */
#ifndef PROFTRACE_INTERP_TEXT_H
#define PROFTRACE_INTERP_TEXT_H

#include "interp/layout.h"

/* What a code object consists of, as far as reports need it; texts and bytes are borrowed. */
struct code_view {
    uintptr_t name; /* str objects */
    uintptr_t qualname;
    uintptr_t file;
    uint32_t first_line;
    uint32_t flags;
    const uint8_t *linetable;
    size_t linetable_bytes;
};

void code_read(const struct interp_layout *layout, uintptr_t code, struct code_view *view);

/* Bytes of a str in UTF-8; surrogates count three, as in the "surrogatepass" of CPython. */
size_t text_utf8_bytes(const struct interp_layout *layout, uintptr_t text);

/*
 * Writes a str as UTF-8, whole characters only, and returns the bytes written. `out` may be
 * shorter than text_utf8_bytes says; then the text is cut.
 */
size_t text_copy_utf8(const struct interp_layout *layout, uintptr_t text, char *out,
                      size_t out_bytes);

#endif
