/* sampling.h - hands lines/sample.h what it needs to know of the interpreter. */
#ifndef PROFTRACE_PYTHON_SAMPLING_H
#define PROFTRACE_PYTHON_SAMPLING_H

#include "python/compat.h"

#include "base/compiler.h"
#include "interp/frames.h"

/* How to read this interpreter's frames, for good. NULL, or a static text that says why not. */
NODISCARD const char *sampling_frames(const struct frame_reader **frames);

/*
 * sample_start for the running interpreter; inside a callback, with the GIL. NULL, or a static text
 * that says why there can be no samples.
 */
NODISCARD const char *sampling_start(void);

#endif
