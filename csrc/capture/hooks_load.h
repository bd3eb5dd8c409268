/*
 * hooks_load.h - hooks of the loader's own functions, for programs that run already: what is loaded
 * from now on needs hooks too, and a function that is looked up by its name is ours.
 */
#ifndef PROFTRACE_CAPTURE_HOOKS_LOAD_H
#define PROFTRACE_CAPTURE_HOOKS_LOAD_H

#include "base/compiler.h"
#include "capture/got_arch.h"

#define LOAD_FUNCTIONS(X) \
    X(dlopen)             \
    X(dlmopen)            \
    X(dlsym)              \
    X(dlvsym)

#define DECLARE_LOAD(name_)                   \
    INTERNAL extern char load_hook_##name_[]; \
    INTERNAL extern void *load_real_##name_;
LOAD_FUNCTIONS(DECLARE_LOAD)
#undef DECLARE_LOAD

#endif
