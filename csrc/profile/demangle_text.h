/* demangle_text.h - the text that a demangled name becomes, with a limit. Zero at first. */
#ifndef PROFTRACE_PROFILE_DEMANGLE_TEXT_H
#define PROFTRACE_PROFILE_DEMANGLE_TEXT_H

#include "base/compiler.h"

#include <stddef.h>
#include <stdint.h>

struct demangled {
    char *text; /* owned */
    size_t n, room;
};

/* 0, or -1: it would be longer than anybody reads, or there is no memory. */
NODISCARD int demangled_add(struct demangled *out, const char *text, size_t n);
/* A character by its number in Unicode, as UTF-8; -1 also for what is none. */
NODISCARD int demangled_add_code(struct demangled *out, uint32_t code);
/* An identifier in Rust's kind of Punycode ("_" stands for its "-"); -1 also for a mistake. */
NODISCARD int demangled_add_punycode(struct demangled *out, const char *text, size_t n);

/* The text, ended by a zero, for the caller to free; NULL: no memory. `out` is empty again. */
NODISCARD char *demangled_take(struct demangled *out);
void demangled_release(struct demangled *out);

#endif
