/*
 * backlog.h - events that were taken out of the slots of threads and wait until there are many.
 *
 * What is done with them drives what the program has out of the processor's caches: once for some
 * ten thousand events that is cheap, once for each full slot it costs the program more than the
 * events themselves. With the capture lock held.
 */
#ifndef PROFTRACE_CAPTURE_BACKLOG_H
#define PROFTRACE_CAPTURE_BACKLOG_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words of raw events of one stream; none: all streams are in up to one moment. */
struct backlog_run {
    uint32_t stream;
    uint32_t n_words;
    const uint64_t *words; /* borrowed from the backlog */
};

struct backlog {
    uint64_t *words; /* owned pages */
    size_t n;        /* words in use */
    size_t at;       /* the run that backlog_next returns */
};

/* -1 without memory. */
NODISCARD int backlog_start(struct backlog *backlog);
void backlog_release(struct backlog *backlog);

/* Adds a run of words, which are copied. False: there is no room, before the backlog is emptied. */
bool backlog_add(struct backlog *backlog, uint32_t stream, const uint64_t *words, size_t n_words);

/* The runs in the order in which they came; after the last one false, and the backlog is empty. */
bool backlog_next(struct backlog *backlog, struct backlog_run *run);

#endif
