/*
 * ring.h - layout of <capture>.ring: what the traced process has recorded but not yet written.
 *
 * The file is mapped MAP_SHARED by the writer and fully allocated (a sparse file on a full disk
 * would be SIGBUS), so it holds the last record even after SIGKILL. It is removed when the capture
 * is closed; a reader that finds one with the capture's session id reads its tail. All integers
 * little-endian, each at its natural alignment, so that the writer stores to them directly.
 *
 *   0                 struct ring_header, padded to RING_HEADER_BYTES
 *   RING_HEADER_BYTES dictionary slot: struct ring_slot + table records
 *   then              n_slots event slots of slot_bytes: struct ring_slot + raw events
 *
 * Commit rule: the bytes of a record are stored first, then committed_bytes (release). Flush rule:
 * the block is written to the log first, then base_ordinal and committed_bytes are reset under an
 * odd `version`. A slot whose version is odd was being reset: its block is already in the log.
 * Overlap rule: records with an ordinal below what the log's blocks cover are skipped.
 */
#ifndef PROFTRACE_FORMAT_RING_H
#define PROFTRACE_FORMAT_RING_H

#include "format/record.h"

#define RING_MAGIC "PTRING1\n"
#define RING_HEADER_BYTES 4096
#define RING_SLOT_HEAD_BYTES 64

struct ring_header {
    char magic[8];
    uint8_t session_id[SESSION_ID_BYTES];
    uint64_t dict_bytes; /* size of the dictionary slot, head included */
    uint64_t slot_bytes; /* size of one event slot, head included */
    uint32_t n_slots;    /* grows; the file is at least that long */
};

struct ring_slot {
    uint32_t version; /* odd while the slot is being reset or handed over */
    uint32_t used;    /* 1: belongs to a stream */
    uint32_t stream;  /* thread index */
    uint32_t unused;
    uint64_t base_ordinal;    /* records of this stream in the log before the slot's first */
    uint64_t committed_bytes; /* of the records behind this head */
    uint64_t pad[4];
};

_Static_assert(sizeof(struct ring_slot) == RING_SLOT_HEAD_BYTES, "slot head is 64 bytes");

#endif
