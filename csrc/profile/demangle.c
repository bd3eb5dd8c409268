/*
 * demangle.c - see demangle.h. The C++ library does it: where a program had such names, that
 * library is nearly always there; no part of ours needs it.
 */
#include "profile/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*demangle_fn)(const char *name, char *buffer, size_t *n_bytes, int *status);

/* Threads that find it at the same time find the same. */
static demangle_fn find_demangler(void)
{
    static demangle_fn found;
    static bool looked;
    if (!looked) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        if (library == NULL)
            library = dlopen("libc++abi.so.1", RTLD_LAZY | RTLD_LOCAL);
        if (library != NULL)
            found = (demangle_fn)dlsym(library, "__cxa_demangle");
        looked = true;
    }
    return found;
}

/* Older Rust writes names as C++ does and adds a hash: "core::fmt::write::h0123456789abcdef". */
static void strip_rust_hash(char *name)
{
    const size_t n_hash = 19;
    size_t n = strlen(name);
    char *hash = name + n - n_hash;
    if (n <= n_hash || memcmp(hash, "::h", 3) != 0 ||
        strspn(hash + 3, "0123456789abcdef") != n_hash - 3)
        return;
    *hash = '\0';
}

char *demangle(const char *name)
{
    demangle_fn function;
    char *text = NULL;
    int status;
    if (name[0] == '_' && name[1] == 'Z' && (function = find_demangler()) != NULL)
        text = function(name, NULL, NULL, &status);
    if (text == NULL)
        return strdup(name);
    strip_rust_hash(text);
    return text;
}
