/* clock.c - see clock.h. */
#include "lines/clock.h"

struct probe_cost probe_costs[PROBE_KINDS];
uint64_t probe_check_at = UINT64_MAX;
uint64_t probe_ns_scale = 1u << NS_SCALE_SHIFT;
uint32_t probe_spreads[PROBE_KINDS];

uint64_t clock_error_ticks(enum probe_kind kind, uint64_t n_events)
{
    return n_events * probe_spreads[kind] >> PROBE_SHIFT;
}

/* Lines are most of what there is in a debt, and the rest is known about as well. */
double clock_debt_error_ticks(uint64_t debt)
{
    uint32_t whole = probe_costs[PROBE_LINE].whole;
    double part = whole == 0 ? 0 : (double)probe_spreads[PROBE_LINE] / whole;
    return (double)(debt >> PROBE_SHIFT) * part;
}
