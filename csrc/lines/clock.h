/*
 * clock.h - the virtual clock: time as it would be without the events.
 *
 * Every event costs the program something: CPython's way to the callback and the callback itself.
 * A thread adds the cost of each of its events to its debt, and its virtual time is the cycle
 * counter less the debt. So the cost leaves the line that is running and all lines and functions
 * around it at once, and no interval has to be corrected afterwards.
 *
 * Costs are by kind of event, measured at the start (calibrate.h) and adjusted to the speed of the
 * host while the run goes on. Until they are known they are zero.
 */
#ifndef PROFTRACE_LINES_CLOCK_H
#define PROFTRACE_LINES_CLOCK_H

#include "base/compiler.h"

#include <stdint.h>

/*
 * Where a LINE event is, its instruction stays in its general form: that costs more where the
 * special one is much faster. And the interpreter makes an int object for a large line number or
 * offset, but has the small ones.
 */
enum probe_kind {
    PROBE_LINE,   /* most of them */
    PROBE_GLOBAL, /* the line begins with LOAD_GLOBAL */
    PROBE_LOOP,   /* with FOR_ITER */
    PROBE_LINE_LARGE,
    PROBE_GLOBAL_LARGE,
    PROBE_LOOP_LARGE,
    PROBE_START,
    PROBE_LEAVE, /* PY_RETURN, PY_UNWIND */
    PROBE_YIELD,
    PROBE_RESUME, /* PY_RESUME, PY_THROW */
    PROBE_INSTRUCTION,
    PROBE_INSTRUCTION_LARGE,
    PROBE_KINDS,
};

/* From a kind of LINE event to the same with a large number. */
#define PROBE_LARGE (PROBE_LINE_LARGE - PROBE_LINE)

/* Costs and debts are in ticks with PROBE_SHIFT binary places: a tick can be 40 ns long. */
#define PROBE_SHIFT 8

struct probe_cost {
    uint32_t before; /* from the program to where the callback reads the clock */
    uint32_t whole;  /* from the program back to the program */
};

/* Read without a lock while they are being adjusted: each is as good as the other. */
extern INTERNAL struct probe_cost probe_costs[PROBE_KINDS];

/* One standard deviation of `whole`: how far costs differ from place to place. */
extern uint32_t probe_spreads[PROBE_KINDS];

/* When the speed of the host is looked at again, in raw ticks; UINT64_MAX = never. */
extern INTERNAL uint64_t probe_check_at;

/* ns per tick with 16 binary places, for histograms; exact enough for powers of two. */
#define NS_SCALE_SHIFT 16
extern INTERNAL uint64_t probe_ns_scale;

/* Adds the cost of an event to a debt and returns the virtual time at which it happened. */
static inline uint64_t clock_event(uint64_t *debt, enum probe_kind kind, uint64_t raw)
{
    const struct probe_cost *cost = &probe_costs[kind];
    uint64_t before = *debt + cost->before;
    *debt += cost->whole;
    return raw - (before >> PROBE_SHIFT);
}

/* An event whose time nobody needs. */
static inline void clock_charge(uint64_t *debt, enum probe_kind kind)
{
    *debt += probe_costs[kind].whole;
}

static inline uint64_t clock_virtual(uint64_t debt, uint64_t raw)
{
    return raw - (debt >> PROBE_SHIFT);
}

/*
 * An event overlaps with the work of the line that follows it, so that it costs more where that is
 * next to nothing: `extra` ticks where a line takes `light` ticks and none where it takes `heavy`.
 */
struct probe_overlap {
    double extra;
    double light;
    double heavy;
};

extern struct probe_overlap probe_overlap;

/* What a line really takes that shows `ticks` when its events are taken to cost the usual. */
double clock_without_overlap(double ticks);

/* The error of n events of a kind, and of a debt, in ticks: one standard deviation. */
uint64_t clock_error_ticks(enum probe_kind kind, uint64_t n_events);
double clock_debt_error_ticks(uint64_t debt);

#endif
