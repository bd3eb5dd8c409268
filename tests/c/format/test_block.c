#include "format/block.h"

#include "check.h"

static uint8_t workspace[64 << 10];
static uint8_t packed[512 << 10];

static size_t pack(const void *payload, size_t n_bytes, struct block_header *header)
{
    *header = (struct block_header){.kind = BLOCK_EVENTS,
                                    .stream = 3,
                                    .n_records = 5,
                                    .first_ordinal = 7,
                                    .first_seq = 11,
                                    .last_seq = 13,
                                    .mono_ns = 17};
    CHECK(block_workspace_bytes() <= sizeof workspace);
    return block_pack(header, payload, n_bytes, packed, sizeof packed, workspace);
}

static void the_crc_is_castagnoli(void)
{
    /* The check value of the CRC catalogue for "123456789". */
    CHECK_EQ(crc32c(0, "123456789", 9), 0xe3069283u);
    CHECK_EQ(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
}

static void a_block_comes_back(void)
{
    static uint8_t payload[100000], out[100000];
    struct block_header put_header, header;
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i / 100);
    size_t n = pack(payload, sizeof payload, &put_header);
    CHECK(n > BLOCK_HEADER_BYTES && n < sizeof payload / 10);
    CHECK_EQ(block_peek(packed, n, &header), BLOCK_OK);
    CHECK_EQ(header.codec, CODEC_LZ4);
    CHECK_EQ(header.stream, 3);
    CHECK_EQ(header.n_records, 5);
    CHECK_EQ(header.first_ordinal, 7);
    CHECK_EQ(header.first_seq, 11);
    CHECK_EQ(header.last_seq, 13);
    CHECK_EQ(header.mono_ns, 17);
    CHECK_EQ(header.raw_bytes, sizeof payload);
    CHECK_EQ(block_unpack(packed, &header, out), 0);
    CHECK(memcmp(payload, out, sizeof payload) == 0);
}

static size_t pack_small(const void *payload, size_t n_bytes, struct block_header *header)
{
    static uint8_t out[3 * (BLOCK_SMALL_RAW_BYTES + 4096)];
    void *work = malloc(block_small_workspace_bytes());
    size_t n;
    CHECK(work != NULL && block_small_bound(n_bytes) <= sizeof out);
    *header = (struct block_header){.kind = BLOCK_DICT, .stream = 3, .n_records = 5};
    n = block_pack_small(header, payload, n_bytes, out, block_small_bound(n_bytes), work);
    if (n != 0 && n <= sizeof packed)
        memcpy(packed, out, n);
    free(work);
    return n;
}

/* Any payload comes back, whichever codec is the smallest; text is smaller than by LZ4 alone. */
static void a_small_block_comes_back(void)
{
    static uint8_t payload[60000], out[2 * sizeof payload + 1];
    static const char *const words[] = {"a block ", "of the ", "same ", "few words ", "and such "};
    struct block_header header;
    bool seen[3] = {false};
    uint64_t random = 88172645463325252ull;
    for (unsigned round = 0; round < 60; round++) {
        size_t n_payload = 0, n, n_plain;
        while (n_payload < 40u << round % 11) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            if (round % 3 == 0) {
                payload[n_payload++] = (uint8_t)random;
            } else {
                const char *word = words[random % 5];
                memcpy(payload + n_payload, word, strlen(word));
                n_payload += strlen(word);
                if (round % 3 == 2)
                    payload[n_payload++] = (uint8_t)(random >> 60);
            }
        }
        n_plain = pack(payload, n_payload, &header);
        n = pack_small(payload, n_payload, &header);
        CHECK(n != 0 && (n <= n_plain || header.codec != CODEC_HUFFMAN));
        CHECK_EQ(block_peek(packed, n, &header), BLOCK_OK);
        CHECK_EQ(header.raw_bytes, n_payload);
        CHECK(block_unpack_bytes(&header) <= sizeof out);
        CHECK_EQ(block_unpack(packed, &header, out), 0);
        CHECK(memcmp(payload, out, n_payload) == 0);
        seen[header.codec] = true;
    }
    CHECK(seen[CODEC_RAW] && seen[CODEC_LZ4] && seen[CODEC_HUFFMAN]);
    CHECK_EQ(pack_small(payload, 0, &header), BLOCK_HEADER_BYTES);
    CHECK_EQ(pack_small(NULL, BLOCK_SMALL_RAW_BYTES + 1, &header), 0);
}

static void what_does_not_compress_is_stored_raw(void)
{
    uint8_t payload[64], out[64];
    struct block_header header;
    uint64_t random = 88172645463325252ull;
    for (size_t i = 0; i < sizeof payload; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        payload[i] = (uint8_t)random;
    }
    size_t n = pack(payload, sizeof payload, &header);
    CHECK_EQ(n, BLOCK_HEADER_BYTES + sizeof payload);
    CHECK_EQ(block_peek(packed, n, &header), BLOCK_OK);
    CHECK_EQ(header.codec, CODEC_RAW);
    CHECK_EQ(block_unpack(packed, &header, out), 0);
    CHECK(memcmp(payload, out, sizeof payload) == 0);
}

static void an_empty_payload_is_a_block(void)
{
    struct block_header header;
    size_t n = pack("", 0, &header);
    CHECK_EQ(n, BLOCK_HEADER_BYTES);
    CHECK_EQ(block_peek(packed, n, &header), BLOCK_OK);
    CHECK_EQ(block_unpack(packed, &header, workspace), 0);
}

static void every_prefix_is_cut_and_every_flipped_bit_is_bad(void)
{
    struct block_header header;
    const char payload[] = "the same, the same, the same, the same, the same, the same";
    size_t n = pack(payload, sizeof payload, &header);
    CHECK_EQ(block_peek(packed, 0, &header), BLOCK_NO_MORE);
    for (size_t cut = 1; cut < n; cut++)
        CHECK_EQ(block_peek(packed, cut, &header), BLOCK_CUT);
    for (size_t bit = 0; bit < n * 8; bit++) {
        packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(block_peek(packed, n, &header) != BLOCK_OK);
        packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK_EQ(block_peek(packed, n, &header), BLOCK_OK);
}

int main(void)
{
    the_crc_is_castagnoli();
    a_block_comes_back();
    a_small_block_comes_back();
    what_does_not_compress_is_stored_raw();
    an_empty_payload_is_a_block();
    every_prefix_is_cut_and_every_flipped_bit_is_bad();
    return 0;
}
