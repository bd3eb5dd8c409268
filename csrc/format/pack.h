/*
 * pack.h - the events of an EVENTS block of version 2: columns of what a model did not foresee.
 *
 * Programs repeat themselves: the same sites in the same order, malloc hands out the block of a
 * size that was freed last, lists are freed from their first item to their last. Both sides keep
 * one model of that, a table or two a question. An event is a control byte which says where the
 * model was right, and the values where it was not, each in the column of its kind; so repeats look
 * alike to LZ4, and most of what it gets are equal bytes. docs/internals/log-format.md is the
 * specification of the model: a change of any table or constant here is a new block kind.
 *
 * The model starts empty in every block, so that blocks decode alone and in any order.
 */
#ifndef PROFTRACE_FORMAT_PACK_H
#define PROFTRACE_FORMAT_PACK_H

#include "format/record.h"

/* More events than this are never in one block; rows and ages fit 16 bits. */
#define PACK_MOST_EVENTS 65535u
/* What the packing side takes at once: a slot of the ring holds no more. */
#define PACK_EVENTS 16384u

/* Columns, in the order of the payload. */
enum pack_column {
    COLUMN_CONTROL, /* a byte an event */
    COLUMN_SITE,    /* varint: row of a site seen before in this block */
    COLUMN_NEW,     /* a new site: u8 kind and domain, svarint node */
    COLUMN_SIZE,    /* varint */
    COLUMN_ADDRESS, /* svarint, of allocations */
    COLUMN_AGE,     /* varint: how many blocks were allocated after the freed one */
    COLUMN_FREED,   /* svarint: addresses of blocks that are not of this file block, and of marks */
    COLUMN_SEQ,     /* varint an event; empty when none has a seq */
    N_COLUMNS,
};

struct packer; /* the model, an index into it, and the columns; see pack.c */

/* Bytes of a packer: zeroed pages, of which few are ever touched. */
size_t packer_bytes(void);

struct packed {
    const uint8_t *payload; /* inside the packer */
    size_t n_bytes;
    uint32_t n_events;
    uint64_t first_seq, last_seq;
};

/*
 * Packs raw events until the words or PACK_EVENTS are used up, or there are more allocations than
 * the indexes hold. *n_words becomes the words taken.
 * Never fails: what cannot be an event ends it. The caller knows whether any event has a seq yet.
 */
void pack_events(struct packer *packer, const uint64_t *words, size_t *n_words, bool may_have_seqs,
                 struct packed *packed);

/*
 * The way back: n_events events of a payload become raw events in `words`, which has room for
 * n_events * RAW_EVENT_MAX_WORDS. `scratch` is unpack_scratch_bytes(n_events) bytes, of any
 * content. Returns the words written, 0 when the payload is malformed.
 */
size_t unpack_scratch_bytes(uint32_t n_events);
NODISCARD size_t unpack_events(const uint8_t *payload, size_t n_bytes, uint32_t n_events,
                               uint64_t first_seq, uint64_t *words, void *scratch);

#endif
