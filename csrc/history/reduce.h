/*
 * reduce.h - what is asked of the history of allocations. Each question is one reducer: a struct,
 * four functions and a row in REDUCERS; it is told every change and keeps what it needs a site.
 *
 * A site is a (Python stack, thread, allocator). The history keeps what is live at each; a reducer
 * sees a site as it is *before* the change.
 */
#ifndef PROFTRACE_HISTORY_REDUCE_H
#define PROFTRACE_HISTORY_REDUCE_H

#include "base/page_vec.h"
#include "format/record.h"

#include <stdbool.h>

struct site {
    uint32_t stack;    /* row of the stack table */
    uint32_t thread;   /* row of the thread table: who allocated */
    uint8_t allocator; /* enum event_kind */
    int64_t bytes;     /* live now */
    int64_t blocks;
    double carry; /* part of a block that sampled ones stand for and that is not counted yet */
};

struct change {
    uint32_t site;
    bool allocation; /* a new block; false: a free, a cut of a mapping, a free taken back */
    int64_t bytes;   /* added (negative: gone) */
    int64_t blocks;
    int64_t size;   /* an allocation's own bytes: `bytes` are more where it is a sample */
    bool temporary; /* a block goes (or comes back) that was there for a moment only */
};

struct amount {
    int64_t bytes;
    int64_t blocks;
};

/* A sum that wraps: a log may hold any numbers, and they are data, not behaviour. */
static inline int64_t sum_of(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

#define SIZE_CLASSES 65 /* number of significant bits: 0 .. 64 */

/* Everything ever allocated. */
struct reduce_totals {
    PAGE_VEC(struct amount) sites;
    int64_t bytes;
    int64_t n_allocations;
    int64_t n_frees; /* blocks that went */
    int64_t largest; /* of one allocation */
    int64_t smallest;
    int64_t sizes[SIZE_CLASSES];
};

/* A site at the highest moment so far; current only if `seen` is the number of that moment. */
struct peak_site {
    struct amount at_peak;
    uint64_t seen;
};

/*
 * What is live at the highest moment of the whole log: exact, in constant time a change. Moments
 * are numbered; a site is copied only when it changes for the first time after the latest of them.
 */
struct reduce_peak {
    PAGE_VEC(struct peak_site) sites;
    struct amount live;
    struct amount highest;
    uint64_t moment;
};

/* What is live at the cut-off: the last end-of-script mark, or the end of the log. */
struct reduce_leaks {
    PAGE_VEC(struct amount) sites;
    bool marked;
};

/*
 * Blocks that were freed before their thread had made more than TEMPORARY_DISTANCE further
 * allocations. Mappings are none of them.
 */
struct reduce_temporary {
    PAGE_VEC(struct amount) sites;
};

#define TEMPORARY_DISTANCE 1

/* The size of the process at a moment, and what was live then, as recorded. */
struct usage_row {
    int64_t time_us;              /* since the start of the log */
    int64_t known;                /* bit by enum usage_field: it was ever told */
    int64_t fields[USAGE_FIELDS]; /* by enum usage_field */
    int64_t live_bytes;
    int64_t live_blocks;
    int64_t mapped_bytes; /* of them in mappings of the program's */
    int64_t arena_bytes;  /* of them in arenas, where those are allocations like others */
};

#define USAGE_MOST_ROWS 1024u /* then of two neighbours the larger one stays */

/* A block that is recorded as gone, and was there still at a moment. */
struct usage_going {
    struct amount amount;
    int64_t mapped_bytes, arena_bytes; /* of it, as in a row */
};

struct reduce_usage {
    struct usage_row now;
    struct usage_going going; /* at the next moment; zero: nothing */
    struct usage_row highest, last, at_end;
    PAGE_VEC(struct usage_row) rows;
    uint64_t n_taken;
    bool marked;
};

struct marked_site {
    struct amount at_mark; /* the last mark */
    bool changed;          /* since then: stands in `changed` */
};

struct user_mark {
    uint32_t label; /* string id of the log */
};

/* A site whose live memory at this mark is another than at the mark before. */
struct mark_row {
    uint32_t mark;
    uint32_t site;
    int64_t bytes; /* live */
    int64_t blocks;
};

/* What is live at each mark of the program's own: a site has a row where it changed. */
struct reduce_marks {
    PAGE_VEC(struct marked_site) sites;
    PAGE_VEC(uint32_t) changed;
    PAGE_VEC(struct user_mark) marks;
    PAGE_VEC(struct mark_row) rows; /* by mark */
};

#define REDUCERS(X) \
    X(totals)       \
    X(peak)         \
    X(leaks)        \
    X(temporary)    \
    X(usage)        \
    X(marks)

/*
 * grow: there are n sites now (-1: no memory left). change: one event. mark: the end-of-script
 * mark. finish: the log is at its end; the columns are complete afterwards, one row a site.
 */
#define DECLARE_REDUCER(name)                                                                    \
    NODISCARD int reduce_##name##_grow(struct reduce_##name *self, size_t n_sites);              \
    void reduce_##name##_change(struct reduce_##name *self, const struct site *before,           \
                                const struct change *change);                                    \
    void reduce_##name##_mark(struct reduce_##name *self, const struct site *sites, size_t n);   \
    void reduce_##name##_finish(struct reduce_##name *self, const struct site *sites, size_t n); \
    void reduce_##name##_release(struct reduce_##name *self);
REDUCERS(DECLARE_REDUCER)
#undef DECLARE_REDUCER

/* The program's next own mark. -1: no memory left. */
NODISCARD int reduce_marks_add(struct reduce_marks *self, uint32_t label, const struct site *sites);

/* The next moment is one at which this was still there, though it is recorded as gone; added up. */
void reduce_usage_during(struct reduce_usage *self, uint8_t allocator, struct amount amount);

/* A mark that tells of the size of the process. -1: no memory left. */
NODISCARD int reduce_usage_field(struct reduce_usage *self, uint64_t kind, uint64_t value);

#endif
