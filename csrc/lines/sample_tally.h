/*
 * sample_tally.h - a sample's stack becomes weights of lines, functions and calls.
 *
 * Knows neither threads nor the interpreter. A tally is written by one thread at a time, also
 * inside its signal handler: memory comes from pages, and what cannot be kept because there is
 * none is left out.
 */
#ifndef PROFTRACE_LINES_SAMPLE_TALLY_H
#define PROFTRACE_LINES_SAMPLE_TALLY_H

#include "lines/sample.h"

/* A profiled frame. */
struct sample_place {
    const struct lines_code *code; /* NULL: there is none */
    uint32_t line;                 /* counted from code->first_line; < code->n_lines */
    bool is_hot;
};

/*
 * A frame of cold code whose clock is running: the line, and from where it was called, as far as
 * that is profiled.
 */
struct sample_clock {
    struct sample_place line;
    struct sample_place caller;
};

/*
 * Adds a sample whose profiled frames are places[0 .. n), innermost first. `clock` is where a
 * clock of cold code is running. Cold places only say who called whom.
 */
void tally_add(struct sample_tally *tally, const struct sample_place *places, uint32_t n,
               const struct sample_clock *clock, uint64_t weight);

/* The same for a time that is known, which has no error. */
void tally_add_known(struct sample_tally *tally, const struct sample_place *places, uint32_t n,
                     const struct sample_clock *clock, uint64_t weight);

/* The same for a sample of instrumentation: its weight is kept apart. */
void tally_discard(struct sample_tally *tally, const struct sample_place *places, uint32_t n,
                   const struct sample_clock *clock, uint64_t weight);

/* So much time passed between two samples, wherever they were. */
void tally_pass(struct sample_tally *tally, uint64_t ticks);

/* Puts a new tally, all zero, into the list of all there are. Any thread may call it. */
void tally_publish(struct sample_tally *tally);

#endif
