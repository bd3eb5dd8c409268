/*
 * stack_view.h - Python stacks as the interpreter itself sees them, for `memtrace --verify-stacks`.
 *
 * Called inside malloc by a thread that is attached to the interpreter, so with care: one function
 * takes no memory, the other takes some and may be called where pymalloc is not at work.
 */
#ifndef PROFTRACE_PYTHON_STACK_VIEW_H
#define PROFTRACE_PYTHON_STACK_VIEW_H

#include "interp/binding.h"

/* See struct interp_view. */
void stack_view_frame(uintptr_t frame, struct seen_frame *view);
void stack_view_whole(interp_visit_fn visit, void *context);
/* Whether whole stacks may be asked for in the middle of an allocation. */
bool stack_view_has_whole(void);

#endif
