/* block.c - packing and checking of blocks; see block.h. */
#include "format/block.h"

#include "format/huffman.h"

#include <lz4.h>

#define HEADER_CRC_AT (BLOCK_HEADER_BYTES - 4)

size_t block_bound(size_t raw_bytes)
{
    return BLOCK_HEADER_BYTES + (size_t)LZ4_compressBound((int)raw_bytes);
}

size_t block_workspace_bytes(void)
{
    return (size_t)LZ4_sizeofState();
}

/* The crc covers the header up to the crc itself, then the stored payload. */
static uint32_t block_crc(const uint8_t *header_bytes, const uint8_t *payload, size_t n_bytes)
{
    return crc32c(crc32c(0, header_bytes, HEADER_CRC_AT), payload, n_bytes);
}

static void header_put(uint8_t out[BLOCK_HEADER_BYTES], const struct block_header *header)
{
    struct put to = put_over(out, BLOCK_HEADER_BYTES);
    put_u32(&to, BLOCK_MAGIC);
    put_u8(&to, header->kind);
    put_u8(&to, header->codec);
    put_u16(&to, 0);
    put_u32(&to, header->stream);
    put_u32(&to, header->n_records);
    put_u32(&to, header->raw_bytes);
    put_u32(&to, header->stored_bytes);
    put_u64(&to, header->first_ordinal);
    put_u64(&to, header->first_seq);
    put_u64(&to, header->last_seq);
    put_u64(&to, header->mono_ns);
    put_u32(&to, 0);
}

/* Header and crc of a payload that is in its place. Returns the bytes of the block. */
static size_t close_block(struct block_header *header, uint8_t *out, enum block_codec codec,
                          size_t stored_bytes)
{
    struct put crc = put_over(out + HEADER_CRC_AT, 4);
    header->codec = (uint8_t)codec;
    header->stored_bytes = (uint32_t)stored_bytes;
    header_put(out, header);
    put_u32(&crc, block_crc(out, out + BLOCK_HEADER_BYTES, stored_bytes));
    return BLOCK_HEADER_BYTES + stored_bytes;
}

static size_t close_raw(struct block_header *header, uint8_t *out, const void *payload,
                        size_t raw_bytes)
{
    if (raw_bytes != 0)
        memcpy(out + BLOCK_HEADER_BYTES, payload, raw_bytes);
    return close_block(header, out, CODEC_RAW, raw_bytes);
}

size_t block_pack(struct block_header *header, const void *payload, size_t raw_bytes, uint8_t *out,
                  size_t out_bytes, void *workspace)
{
    uint8_t *stored = out + BLOCK_HEADER_BYTES;
    int n_packed;
    if (raw_bytes > BLOCK_MAX_RAW_BYTES || out_bytes < block_bound(raw_bytes))
        return 0;
    header->raw_bytes = (uint32_t)raw_bytes;
    n_packed = LZ4_compress_fast_extState(workspace, payload, (char *)stored, (int)raw_bytes,
                                          (int)(out_bytes - BLOCK_HEADER_BYTES), 1);
    if (n_packed <= 0 || (size_t)n_packed >= raw_bytes)
        return close_raw(header, out, payload, raw_bytes);
    return close_block(header, out, CODEC_LZ4, (size_t)n_packed);
}

/* ---- small blocks ------------------------------------------------------------------------- */

size_t block_small_bound(size_t raw_bytes)
{
    return 2 * block_bound(raw_bytes) + VARINT_MAX_BYTES;
}

size_t block_small_workspace_bytes(void)
{
    return (size_t)LZ4_sizeofState() + huffman_work_bytes();
}

size_t block_pack_small(struct block_header *header, const void *payload, size_t raw_bytes,
                        uint8_t *out, size_t out_bytes, void *workspace)
{
    uint8_t *const stored = out + BLOCK_HEADER_BYTES;
    uint8_t *const packed = out + BLOCK_HEADER_BYTES + VARINT_MAX_BYTES + raw_bytes;
    struct put head = put_over(stored, VARINT_MAX_BYTES);
    size_t n_head, n_codes;
    int n_packed;
    if (raw_bytes > BLOCK_SMALL_RAW_BYTES || out_bytes < block_small_bound(raw_bytes))
        return 0;
    header->raw_bytes = (uint32_t)raw_bytes;
    n_packed = LZ4_compress_fast_extState(workspace, payload, (char *)packed, (int)raw_bytes,
                                          LZ4_compressBound((int)raw_bytes), 1);
    if (n_packed <= 0 || (size_t)n_packed >= raw_bytes)
        return close_raw(header, out, payload, raw_bytes);
    put_varint(&head, (uint64_t)n_packed);
    n_head = (size_t)(head.p - stored);
    n_codes = huffman_put(packed, (size_t)n_packed, head.p, (size_t)n_packed - n_head,
                          (uint8_t *)workspace + LZ4_sizeofState());
    if (n_codes != 0)
        return close_block(header, out, CODEC_HUFFMAN, n_head + n_codes);
    memmove(stored, packed, (size_t)n_packed);
    return close_block(header, out, CODEC_LZ4, (size_t)n_packed);
}

/* ---- reading ------------------------------------------------------------------------------ */

enum block_verdict block_peek(const uint8_t *bytes, size_t n_bytes, struct block_header *header)
{
    struct get from = get_over(bytes, n_bytes);
    uint32_t magic, crc;
    if (n_bytes == 0)
        return BLOCK_NO_MORE;
    if (n_bytes < BLOCK_HEADER_BYTES)
        return BLOCK_CUT;
    magic = get_u32(&from);
    header->kind = get_u8(&from);
    header->codec = get_u8(&from);
    (void)get_u16(&from);
    header->stream = get_u32(&from);
    header->n_records = get_u32(&from);
    header->raw_bytes = get_u32(&from);
    header->stored_bytes = get_u32(&from);
    header->first_ordinal = get_u64(&from);
    header->first_seq = get_u64(&from);
    header->last_seq = get_u64(&from);
    header->mono_ns = get_u64(&from);
    (void)get_u32(&from);
    crc = get_u32(&from);
    if (magic != BLOCK_MAGIC || header->raw_bytes > BLOCK_MAX_RAW_BYTES ||
        header->stored_bytes > block_bound(header->raw_bytes) || header->codec > CODEC_HUFFMAN ||
        (header->codec == CODEC_RAW && header->stored_bytes != header->raw_bytes))
        return BLOCK_BAD;
    if (get_left(&from) < header->stored_bytes)
        return BLOCK_CUT;
    return crc == block_crc(bytes, from.p, header->stored_bytes) ? BLOCK_OK : BLOCK_BAD;
}

size_t block_unpack_bytes(const struct block_header *header)
{
    return header->raw_bytes * (header->codec == CODEC_HUFFMAN ? 2ul : 1ul) + 1;
}

static int unpack_lz4(const uint8_t *packed, size_t n_bytes, const struct block_header *header,
                      uint8_t *out)
{
    int n_out = LZ4_decompress_safe((const char *)packed, (char *)out, (int)n_bytes,
                                    (int)header->raw_bytes);
    return n_out == (int)header->raw_bytes ? 0 : -1;
}

int block_unpack(const uint8_t *bytes, const struct block_header *header, uint8_t *out)
{
    struct get stored = get_over(bytes + BLOCK_HEADER_BYTES, header->stored_bytes);
    uint8_t *const packed = out + header->raw_bytes;
    uint64_t n_packed;
    if (header->codec == CODEC_RAW) {
        if (header->raw_bytes != 0)
            memcpy(out, stored.p, header->raw_bytes);
        return 0;
    }
    if (header->codec == CODEC_LZ4)
        return unpack_lz4(stored.p, header->stored_bytes, header, out);
    n_packed = get_varint(&stored);
    if (stored.bad || n_packed > header->raw_bytes ||
        huffman_get(stored.p, get_left(&stored), packed, n_packed) != 0)
        return -1;
    return unpack_lz4(packed, n_packed, header, out);
}
