/* block.c - packing and checking of blocks; see block.h. */
#include "format/block.h"

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

size_t block_pack(struct block_header *header, const void *payload, size_t raw_bytes, uint8_t *out,
                  size_t out_bytes, void *workspace)
{
    uint8_t *stored = out + BLOCK_HEADER_BYTES;
    struct put crc;
    int n_packed;
    if (raw_bytes > BLOCK_MAX_RAW_BYTES || out_bytes < block_bound(raw_bytes))
        return 0;
    header->raw_bytes = (uint32_t)raw_bytes;
    n_packed = LZ4_compress_fast_extState(workspace, payload, (char *)stored, (int)raw_bytes,
                                          (int)(out_bytes - BLOCK_HEADER_BYTES), 1);
    if (n_packed > 0 && (size_t)n_packed < raw_bytes) {
        header->codec = CODEC_LZ4;
        header->stored_bytes = (uint32_t)n_packed;
    } else {
        header->codec = CODEC_RAW;
        header->stored_bytes = (uint32_t)raw_bytes;
        if (raw_bytes != 0)
            memcpy(stored, payload, raw_bytes);
    }
    header_put(out, header);
    crc = put_over(out + HEADER_CRC_AT, 4);
    put_u32(&crc, block_crc(out, stored, header->stored_bytes));
    return BLOCK_HEADER_BYTES + header->stored_bytes;
}

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
        header->stored_bytes > block_bound(header->raw_bytes) || header->codec > CODEC_LZ4 ||
        (header->codec == CODEC_RAW && header->stored_bytes != header->raw_bytes))
        return BLOCK_BAD;
    if (get_left(&from) < header->stored_bytes)
        return BLOCK_CUT;
    return crc == block_crc(bytes, from.p, header->stored_bytes) ? BLOCK_OK : BLOCK_BAD;
}

int block_unpack(const uint8_t *bytes, const struct block_header *header, uint8_t *out)
{
    const uint8_t *stored = bytes + BLOCK_HEADER_BYTES;
    int n_out;
    if (header->codec == CODEC_RAW) {
        if (header->raw_bytes != 0)
            memcpy(out, stored, header->raw_bytes);
        return 0;
    }
    n_out = LZ4_decompress_safe((const char *)stored, (char *)out, (int)header->stored_bytes,
                                (int)header->raw_bytes);
    return n_out == (int)header->raw_bytes ? 0 : -1;
}
