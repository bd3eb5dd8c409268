/*
 * running_frames.h - where the frames of all threads stand, read as memory: at a change of regime,
 * and for the result, which may be written in a signal handler.
 */
#ifndef PROFTRACE_PYTHON_RUNNING_FRAMES_H
#define PROFTRACE_PYTHON_RUNNING_FRAMES_H

#include "python/compat.h"

#include "interp/frames.h"
#include "lines/regime.h"

/* To be called once with the GIL; `frames` stays borrowed. */
void running_frames_prepare(const struct frame_reader *frames);

/*
 * Visits the running frames of all threads of this interpreter, innermost first (regime_walk). With
 * the GIL nothing moves meanwhile; without it, memory that is being changed is read without harm.
 */
void running_frames_walk(regime_visit_fn visit, void *context);

/* Visits the running frames of this thread, which has the GIL. Nothing when nothing is prepared. */
void running_frames_walk_own(regime_visit_fn visit, void *context);

#endif
