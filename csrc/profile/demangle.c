/*
 * demangle.c - see demangle.h. For C++ its library does it: where a program had such names, that
 * library is nearly always there; no part of ours needs it.
 */
#include "profile/demangle.h"

#include "profile/demangle_rust.h"

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

char *demangle(const char *name)
{
    demangle_fn function;
    char *text = NULL;
    int status;
    if (name[0] == '_' && name[1] == 'R')
        text = demangle_rust(name);
    else if (name[0] == '_' && name[1] == 'Z' && (function = find_demangler()) != NULL)
        text = function(name, NULL, NULL, &status);
    if (text == NULL)
        return strdup(name);
    demangle_old_rust(text);
    return text;
}
