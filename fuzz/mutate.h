/*
 * mutate.h - damages logs at random, the same way for the same seed. Two kinds: the file's bytes as
 * they are (the checksums find it), and the contents of blocks with the checksums made right again,
 * so that the decoders behind them are reached.
 */
#ifndef PROFTRACE_FUZZ_MUTATE_H
#define PROFTRACE_FUZZ_MUTATE_H

#include "log_fixture.h"

struct random {
    uint64_t state; /* not 0 */
};

uint64_t random_next(struct random *random);
/* 0 .. below - 1; below > 0 */
uint64_t random_below(struct random *random, uint64_t below);

/* Flips, overwrites, inserts, removes and copies bytes; returns the new length, at most `room`. */
size_t mutate_bytes(struct random *random, uint8_t *bytes, size_t n_bytes, size_t room);

/* Appends a log to `out` whose blocks are those of `seed` dropped, repeated, swapped, changed. */
void mutate_blocks(struct random *random, const struct log_fixture *seed, struct log_fixture *out);

#endif
