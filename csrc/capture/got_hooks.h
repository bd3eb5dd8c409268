/*
 * got_hooks.h - the functions of other libraries that our hooks stand in for, by name.
 *
 * The same hooks that a preloaded library has, and some more for the loader's own functions, which
 * only have to be ours where nobody loaded us in front of all others.
 */
#ifndef PROFTRACE_CAPTURE_GOT_HOOKS_H
#define PROFTRACE_CAPTURE_GOT_HOOKS_H

struct got_hook {
    const char *name;
    void *hook;
    void **real;  /* where our hook looks up what to call, or NULL */
    void *target; /* what the program calls; NULL: there is no such function here */
};

#define GOT_HOOKS_MOST 64
extern struct got_hook got_hooks[GOT_HOOKS_MOST];

/*
 * Finds the targets: what the program's own calls lead to, whoever defines it (the C library, or an
 * allocator in front of it). Once a process, while no hook is in use.
 */
void got_hooks_resolve(void);

/* NULL: we have no hook of this name. */
struct got_hook *got_hook_named(const char *name);

#endif
