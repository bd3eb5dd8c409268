/*
 * got_hooks.h - the functions of other libraries that our hooks stand in for, by name.
 *
 * The same hooks that a preloaded library has, and some more for the loader's own functions, which
 * only have to be ours where nobody loaded us in front of all others.
 */
#ifndef PROFTRACE_CAPTURE_GOT_HOOKS_H
#define PROFTRACE_CAPTURE_GOT_HOOKS_H

#include <stdbool.h>

enum got_hook_kind {
    GOT_HOOK_EXPORTED, /* preloaded, the loader puts it in by itself */
    GOT_HOOK_LOADER,   /* of its functions, which nobody else brings */
    GOT_HOOK_OPERATOR, /* of an allocator in front of the C library: see hooks_operators.h */
};

struct got_hook {
    const char *name;
    void *hook;
    void **real;  /* where our hook looks up what to call, or NULL */
    void *target; /* what it stands in for; NULL: there is no such function here */
    enum got_hook_kind kind;
    bool is_first; /* a call by this name that is not bound yet is to be the hook's */
};

#define GOT_HOOKS_MOST 80
extern struct got_hook got_hooks[GOT_HOOKS_MOST];

/*
 * Finds the targets: what the program's own calls lead to, whoever defines it (the C library, or an
 * allocator in front of it); with this library preloaded, where they would lead without it. Once a
 * process, while no hook is in use.
 */
void got_hooks_resolve(bool preloaded);

/* NULL: we have no hook of this name. */
struct got_hook *got_hook_named(const char *name);

#endif
