/*
 * gotpatch.h - the hooks, put into a program that is running: for when nobody loaded this library
 * in front of all others, and for the calls that go past it all the same (of what is loaded with
 * RTLD_DEEPBIND, and by addresses that were asked of the C library itself).
 *
 * Every object file reaches functions of others through slots that the loader has filled in. Where
 * one leads to a function that we have a hook for, it is made to lead to the hook, in all objects
 * but the loader and this library, and back again. Pages that the loader made read-only are so
 * again afterwards. All functions may be called from any thread, but not with the capture lock
 * held: they ask the loader, and a thread that is loading may wait for that lock.
 */
#ifndef PROFTRACE_CAPTURE_GOTPATCH_H
#define PROFTRACE_CAPTURE_GOTPATCH_H

#include <stdbool.h>

/*
 * Puts the hooks in, and into what is loaded from now on as far as gotpatch_refresh is called.
 * `preloaded`: this library is in front of the others.
 */
void gotpatch_apply(bool preloaded);

/*
 * Takes them out, but where they are preloaded. A thread may still be inside one, and pointers to
 * them may be kept: they stay.
 */
void gotpatch_restore(void);

bool gotpatch_is_on(void);

/* Something is being loaded that looks for names in itself before anywhere else (RTLD_DEEPBIND). */
void gotpatch_sees_deep(void);

/* Something may have been loaded since; does nothing while the hooks are out. Keeps errno. */
void gotpatch_refresh(void);

/* In a forked child: another thread may have been in the middle of a change. */
void gotpatch_after_fork(void);

#endif
