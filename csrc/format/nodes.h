/*
 * nodes.h - the NODE records of a DICT payload as one NODES record (LINE_NODES): columns, so that
 * what repeats (a frame on top of the one before, the same places in other stacks) looks alike to
 * LZ4.
 *
 * Only blocks have it: the ring holds NODE records, each complete by itself.
 */
#ifndef PROFTRACE_FORMAT_NODES_H
#define PROFTRACE_FORMAT_NODES_H

#include "format/record.h"

/*
 * Copies table records; their NODE records become one NODES record at the end. Returns the bytes in
 * `out`, 0 when there is nothing to gather, ids do not follow each other, or `room` is too small
 * (n_bytes + NODES_ROOM is enough).
 */
#define NODES_ROOM 128
NODISCARD size_t nodes_gather(const uint8_t *records, size_t n_bytes, uint8_t *out, size_t room);

/* Reads a NODES record. */
struct nodes_reader {
    struct get parents, codes, places;
    uint32_t n_left;
    uint32_t id, code; /* of the node before */
    bool by_line;
};

/* The payload of a NODES or, by_line, of a LINE_NODES record. -1: malformed. */
NODISCARD int nodes_open(struct nodes_reader *reader, struct get payload, bool by_line);
/* The next node; only while n_left is not 0. -1: malformed. */
NODISCARD int nodes_next(struct nodes_reader *reader, struct rec_node *node);

#endif
