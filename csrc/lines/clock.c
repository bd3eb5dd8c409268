/* clock.c - see clock.h. */
#include "lines/clock.h"

struct probe_cost probe_costs[PROBE_KINDS];
uint64_t probe_check_at = UINT64_MAX;
uint64_t probe_ns_scale = 1u << NS_SCALE_SHIFT;
uint32_t probe_spreads[PROBE_KINDS];

uint64_t clock_error_ticks(enum probe_kind kind, uint64_t n_events)
{
    /* Rounded up: nothing that ran is known to the tick. */
    return (n_events * probe_spreads[kind] + (1u << PROBE_SHIFT) - 1) >> PROBE_SHIFT;
}

/* Lines are most of what there is in a debt, and the rest is known about as well. */
double clock_debt_error_ticks(uint64_t debt)
{
    uint32_t whole = probe_costs[PROBE_LINE].whole;
    double part = whole == 0 ? 0 : (double)probe_spreads[PROBE_LINE] / whole;
    return (double)(debt >> PROBE_SHIFT) * part;
}

struct probe_overlap probe_overlap;

double clock_without_overlap(double ticks)
{
    const struct probe_overlap *overlap = &probe_overlap;
    double range = overlap->heavy - overlap->light, steepness, real;
    if (overlap->extra <= 0 || range < 2 * overlap->extra || ticks >= overlap->heavy)
        return ticks; /* otherwise it would not be a function of what is seen */
    steepness = overlap->extra / range;
    real = (ticks - steepness * overlap->heavy) / (1 - steepness);
    return real < 0 ? 0 : real < overlap->light ? ticks - overlap->extra : real;
}
