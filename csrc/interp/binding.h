/*
 * binding.h - what the interpreter's side hands over once, so that nothing below python/ needs a
 * symbol of CPython. All of it stays valid until the process ends.
 *
 * The functions only read; they may be called inside malloc, with or without the GIL.
 */
#ifndef PROFTRACE_INTERP_BINDING_H
#define PROFTRACE_INTERP_BINDING_H

#include <stdbool.h>
#include <stdint.h>

struct interp_binding {
    const void *runtime;           /* &_PyRuntime */
    uint32_t hexversion;           /* PY_VERSION_HEX of the running interpreter */
    bool free_threaded;            /* built without the GIL */
    void *(*attached_state)(void); /* thread state of a thread that holds the GIL, else NULL */
    void *(*known_state)(void);    /* thread state of this thread with or without the GIL */
    int (*is_finalizing)(void);    /* then known_state() may point to freed memory */
};

#endif
