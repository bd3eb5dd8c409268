/*
 * block.h - the unit of writing: a fixed header and a payload, raw or packed, with a crc.
 *
 * A block decodes alone. A torn or damaged block fails its crc; a reader then stops or looks for
 * the next magic. Sizes in a header are believed only after the crc and the limits below.
 */
#ifndef PROFTRACE_FORMAT_BLOCK_H
#define PROFTRACE_FORMAT_BLOCK_H

#include "base/bytes.h"

#define BLOCK_HEADER_BYTES 64
#define BLOCK_MAGIC 0x4b425450u /* "PTBK" in file order */
#define BLOCK_MAX_RAW_BYTES (64u << 20)
#define BLOCK_STORED_BYTES_AT 20 /* where a header has the bytes that follow it */

enum block_kind {
    BLOCK_DICT = 1,       /* table records: strings, codes, nodes, threads, meta, sources */
    BLOCK_EVENTS = 2,     /* events of one thread as version 1 stored them */
    BLOCK_LINES = 3,      /* table records: functions and lines */
    BLOCK_END = 4,        /* one rec_end; nothing follows */
    BLOCK_PACKED = 5,     /* events of one thread; see pack.h */
    BLOCK_CHECKPOINT = 6, /* table records: what is known of all events before; version 3 */
};

enum block_codec {
    CODEC_RAW = 0,
    CODEC_LZ4 = 1,
    CODEC_HUFFMAN = 2, /* varint bytes of an LZ4 block, and that by huffman.h; version 4 */
};

struct block_header {
    uint8_t kind;
    uint8_t codec;
    uint32_t stream; /* EVENTS, PACKED: thread index; else 0 */
    uint32_t n_records;
    uint32_t raw_bytes;     /* payload after decoding */
    uint32_t stored_bytes;  /* payload in the file */
    uint64_t first_ordinal; /* how many records of this kind and stream came before */
    uint64_t first_seq;     /* of events: coder start, and the seq range covered */
    uint64_t last_seq;
    uint64_t mono_ns; /* when the block was closed */
};

/* Room a block of raw_bytes may need in the output buffer, header included. */
size_t block_bound(size_t raw_bytes);

/*
 * Packs header and payload into out (at least block_bound(n) bytes); fills in codec, raw_bytes
 * and stored_bytes. `workspace` is LZ4_sizeofState() bytes (see block_workspace_bytes), so that
 * nothing is allocated. Returns the bytes to write, 0 when raw_bytes is over the limit.
 */
size_t block_workspace_bytes(void);
NODISCARD size_t block_pack(struct block_header *header, const void *payload, size_t raw_bytes,
                            uint8_t *out, size_t out_bytes, void *workspace);

/*
 * The same for fewer bytes, in two to three times the time. `out` has block_small_bound(n) bytes
 * and `workspace` block_small_workspace_bytes(); raw_bytes is at most BLOCK_SMALL_RAW_BYTES.
 */
#define BLOCK_SMALL_RAW_BYTES (256u << 10)
size_t block_small_bound(size_t raw_bytes);
size_t block_small_workspace_bytes(void);
NODISCARD size_t block_pack_small(struct block_header *header, const void *payload,
                                  size_t raw_bytes, uint8_t *out, size_t out_bytes,
                                  void *workspace);

enum block_verdict {
    BLOCK_OK,
    BLOCK_NO_MORE, /* no byte left */
    BLOCK_CUT,     /* the bytes end inside the block */
    BLOCK_BAD,     /* magic, limits or crc wrong */
};

/* Looks at the block at the start of bytes and checks magic, limits and crc. */
NODISCARD enum block_verdict block_peek(const uint8_t *bytes, size_t n_bytes,
                                        struct block_header *header);

/*
 * Decodes the payload of a block that block_peek called OK: header->raw_bytes bytes. `out` has room
 * for block_unpack_bytes(header), as what is behind them is used on the way.
 */
size_t block_unpack_bytes(const struct block_header *header);
NODISCARD int block_unpack(const uint8_t *bytes, const struct block_header *header, uint8_t *out);

/* CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected), chained: start with 0. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n_bytes);

#endif
