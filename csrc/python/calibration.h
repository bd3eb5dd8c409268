/*
 * calibration.h - measures what events cost here and now, by running small functions with and
 * without them.
 */
#ifndef PROFTRACE_PYTHON_CALIBRATION_H
#define PROFTRACE_PYTHON_CALIBRATION_H

#include "python/compat.h"

#include "base/ticks.h"

/*
 * Measures, and takes the costs into use (lines/calibrate.h); to be called once, when the monitor
 * has started and before anything is profiled. Takes a few milliseconds and leaves no trace in the
 * program or in the result. `start` is a moment some time ago. -1 with an exception set.
 */
NODISCARD int calibration_run(const struct tick_anchor *start);

#endif
