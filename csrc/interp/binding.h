/*
 * binding.h - what the interpreter's side hands over once, so that nothing below python/ needs a
 * symbol of CPython. All of it stays valid until the process ends.
 *
 * The functions only read; they may be called inside malloc, with or without the GIL.
 */
#ifndef PROFTRACE_INTERP_BINDING_H
#define PROFTRACE_INTERP_BINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame as the interpreter's own functions describe it. */
struct seen_frame {
    uintptr_t code;      /* the code object */
    int unit;            /* that runs; negative: none has yet */
    int first_traceable; /* units before it set the frame up */
};

/* Called with the frames of a stack, innermost first; false ends the walk. */
typedef bool (*interp_visit_fn)(void *context, const struct seen_frame *view);

/* A second opinion on stacks; the calling thread must hold the GIL (be attached). */
struct interp_view {
    void (*frame)(uintptr_t frame, struct seen_frame *view); /* takes no memory */
    /* All frames that tracebacks show. Makes objects; NULL: not inside malloc. */
    void (*whole)(interp_visit_fn visit, void *context);
};

struct interp_binding {
    const void *runtime;           /* &_PyRuntime */
    const void *none;              /* Py_None; NULL: frames get no marks */
    uint32_t hexversion;           /* PY_VERSION_HEX of the running interpreter */
    bool free_threaded;            /* built without the GIL */
    void *(*attached_state)(void); /* thread state of a thread that holds the GIL, else NULL */
    ptrdiff_t state_offset;        /* of a word that has the same, from a thread's thread pointer;
                                      0 = not known. Compare the two once in each thread. */
    void *(*known_state)(void);    /* thread state of this thread with or without the GIL */
    int (*is_finalizing)(void);    /* then known_state() may point to freed memory */
    /* Name of the thread that pthread_create is being called for, if Python gave it one. */
    bool (*starting_thread)(char *name, size_t n_bytes);
    struct interp_view view; /* of use to --verify-stacks only */
};

#endif
