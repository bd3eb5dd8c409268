/* demangle_rust.h - names that Rust gives its functions since its "v0" scheme: `_RNv...`. */
#ifndef PROFTRACE_PROFILE_DEMANGLE_RUST_H
#define PROFTRACE_PROFILE_DEMANGLE_RUST_H

#include "base/compiler.h"

/*
 * A new text (malloc), without hashes of crates and types of constants. NULL: no such name, one
 * with a mistake in it or one that would be absurdly long, or no memory.
 */
NODISCARD char *demangle_rust(const char *name);

/*
 * The older scheme is that of C++ with a hash as the last part and escapes ("$LT$" for "<").
 * Changes a text that the C++ library gave in place; leaves one that is not from Rust as it is.
 */
void demangle_old_rust(char *name);

#endif
