/*
 * calibrate.h - puts measured costs of events into the virtual clock (clock.h) and keeps them right
 * when the host changes its speed.
 *
 * A shared machine runs at one speed for a while, and then at half of it. Every few milliseconds an
 * event does a known piece of the tracer's own work; how long that takes, compared with how long it
 * took when the costs were measured, scales them all.
 */
#ifndef PROFTRACE_LINES_CALIBRATE_H
#define PROFTRACE_LINES_CALIBRATE_H

#include "lines/clock.h"

#include <stddef.h>

/* What one event costs, in ticks. */
struct probe_measurement {
    double before; /* see struct probe_cost */
    double whole;
    double spread; /* one standard deviation from place to place in a program */
};

struct calibration {
    struct probe_measurement kinds[PROBE_KINDS];
    struct probe_overlap overlap;
    double ns_per_tick;
};

/* Takes the costs into use, together with the speed of the host now. */
void calibrate_use(const struct calibration *measured);

/*
 * Looks at the speed of the host; to be called by an event that comes after probe_check_at. Returns
 * the ticks that it took, which are also added to the debt.
 */
uint64_t calibrate_check(uint64_t *debt);

/* The costs for a speed that is `slowness` times that of the calibration (2 = half as fast). */
void calibrate_scale(double slowness);

/*
 * Writes the costs as JSON without a NUL at its end, and returns its length; 0 if there are none.
 * `room` of 512 is always enough. Usable in a signal handler.
 */
size_t calibrate_describe(char *text, size_t room);

#endif
