/* mutate.c - see mutate.h. */
#include "mutate.h"

#include "check.h"
#include "format/pack.h"

#define MAX_BLOCKS 64
#define MAX_PAYLOAD (256u << 10)

uint64_t random_next(struct random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state * 0x2545f4914f6cdd1du;
}

uint64_t random_below(struct random *random, uint64_t below)
{
    return (random_next(random) >> 11) % below;
}

/* Numbers that sit at the edges of the coding. */
static uint64_t odd_number(struct random *random)
{
    static const uint64_t odd[] = {0,          1,          2,         127,       128,
                                   UINT16_MAX, UINT32_MAX, 1u << 31,  INT64_MAX, UINT64_MAX,
                                   64u << 20,  1ul << 57,  1ul << 33, 1024,      4096};
    if (random_below(random, 2))
        return odd[random_below(random, sizeof odd / sizeof odd[0])];
    return random_next(random) >> random_below(random, 64);
}

static void mutate_once(struct random *random, uint8_t *bytes, size_t *n_bytes, size_t room)
{
    size_t at = random_below(random, *n_bytes);
    size_t length = 1 + random_below(random, 8);
    size_t left = *n_bytes - at;
    if (length > left)
        length = left;
    switch (random_below(random, 6)) {
    case 0:
        bytes[at] ^= (uint8_t)(1 << random_below(random, 8));
        break;
    case 1:
        bytes[at] = (uint8_t)random_next(random);
        break;
    case 2:
        for (uint64_t number = odd_number(random), i = 0; i < length; i++)
            bytes[at + i] = (uint8_t)(number >> 8 * i);
        break;
    case 3: /* removed */
        memmove(bytes + at, bytes + at + length, left - length);
        *n_bytes -= length;
        break;
    case 4: /* repeated */
        if (*n_bytes + length <= room) {
            memmove(bytes + at + length, bytes + at, left);
            *n_bytes += length;
        }
        break;
    default: /* from somewhere else */
        memmove(bytes + at, bytes + random_below(random, *n_bytes - length + 1), length);
        break;
    }
}

size_t mutate_bytes(struct random *random, uint8_t *bytes, size_t n_bytes, size_t room)
{
    size_t times = 1 + random_below(random, 6);
    for (size_t i = 0; i < times && n_bytes != 0; i++)
        mutate_once(random, bytes, &n_bytes, room);
    if (random_below(random, 8) == 0 && n_bytes != 0)
        n_bytes = random_below(random, n_bytes);
    return n_bytes;
}

static void mutate_header(struct random *random, struct block_header *header)
{
    switch (random_below(random, 12)) {
    case 0:
        header->kind = (uint8_t)random_below(random, 7);
        break;
    case 1:
        header->stream = (uint32_t)odd_number(random);
        break;
    case 2:
        header->n_records = (uint32_t)odd_number(random);
        break;
    case 3:
        header->first_ordinal = odd_number(random);
        break;
    case 4:
        header->first_seq = odd_number(random);
        break;
    case 5:
        header->last_seq = odd_number(random);
        break;
    default:
        break;
    }
}

/* Where the blocks of a log start; the last entry is its end. */
static size_t find_blocks(const struct log_fixture *log, size_t at[MAX_BLOCKS + 1])
{
    size_t n = 0, offset = FILE_HEADER_BYTES;
    struct block_header header;
    while (n < MAX_BLOCKS &&
           block_peek(log->bytes + offset, log->n_bytes - offset, &header) == BLOCK_OK) {
        at[n++] = offset;
        offset += BLOCK_HEADER_BYTES + header.stored_bytes;
    }
    return n;
}

/* Overwrites a field with a number, as a varint: most fields of records and events are that. */
static size_t mutate_varint(struct random *random, uint8_t *bytes, size_t n_bytes)
{
    uint8_t number[VARINT_MAX_BYTES];
    struct put put = put_over(number, sizeof number);
    size_t at = n_bytes == 0 ? 0 : random_below(random, n_bytes);
    size_t taken = at;
    size_t n;
    put_varint(&put, odd_number(random));
    n = (size_t)(put.p - number);
    while (taken < n_bytes && bytes[taken++] >= 0x80)
        ;
    memmove(bytes + at + n, bytes + taken, n_bytes - taken);
    memcpy(bytes + at, number, n);
    return n_bytes - (taken - at) + n;
}

/* Changes some table records, each inside its frame; the lengths are right again. */
static size_t mutate_records(struct random *random, const uint8_t *from, size_t n_bytes,
                             uint8_t *out)
{
    struct get get = get_over(from, n_bytes), record;
    struct put put = put_over(out, MAX_PAYLOAD);
    uint8_t tag;
    while ((tag = table_next(&get, &record)) != 0) {
        uint8_t payload[4096 + VARINT_MAX_BYTES];
        size_t n = get_left(&record);
        CHECK(n <= 4096);
        memcpy(payload, record.p, n);
        if (random_below(random, 8) == 0)
            n = mutate_varint(random, payload, n);
        if (random_below(random, 32) == 0)
            tag = (uint8_t)(1 + random_below(random, 18));
        for (uint64_t times = random_below(random, 16) == 0 ? 2 : 1; times > 0; times--) {
            put_u8(&put, tag);
            put_u32(&put, (uint32_t)n);
            put_bytes(&put, payload, n);
        }
    }
    CHECK(!put.bad);
    return (size_t)(put.p - out);
}

static void mutate_event(struct random *random, struct event *event)
{
    static const uint8_t kinds[] = {EVENT_MALLOC, EVENT_FREE, EVENT_MMAP,  EVENT_MUNMAP,
                                    EVENT_UNFREE, EVENT_MARK, EVENT_ARENA, EVENT_PYMALLOC_REALLOC};
    switch (random_below(random, 7)) {
    case 0:
        event->kind = kinds[random_below(random, sizeof kinds)];
        break;
    case 1:
        event->address = odd_number(random);
        break;
    case 2: /* near the others, so that ranges and blocks meet */
        event->address = 0x7f1000000000u + 2048 * random_below(random, 12);
        break;
    case 3:
        event->size = random_below(random, 2) ? odd_number(random) : random_below(random, 20000);
        break;
    case 4:
        event->node = (uint32_t)odd_number(random);
        break;
    case 5:
        event->domain = (uint8_t)random_below(random, 4);
        break;
    default:
        event->seq = random_below(random, 2) ? odd_number(random) : random_below(random, 16);
        break;
    }
}

/* The same for events that were packed. */
static size_t mutate_packed(struct random *random, const uint8_t *from, size_t n_bytes,
                            struct block_header *header, uint8_t *out)
{
    const size_t n_most = header->n_records * RAW_EVENT_MAX_WORDS;
    uint64_t *words = malloc((1 + 3) * n_most * sizeof *words);
    void *scratch = malloc(unpack_scratch_bytes(header->n_records));
    uint64_t *changed = words + n_most;
    size_t n_words, n_changed = 0;
    struct put put = put_over(out, MAX_PAYLOAD);
    struct event event;
    CHECK(words != NULL && scratch != NULL);
    n_words = unpack_events(from, n_bytes, header->n_records, header->first_seq, words, scratch);
    CHECK(n_words != 0);
    for (size_t at = 0; at < n_words;) {
        at += raw_event_get(words + at, n_words - at, &event);
        for (uint64_t times = 1 + random_below(random, 4) / 2; times > 0; times--) {
            if (random_below(random, 3) == 0)
                mutate_event(random, &event);
            n_changed += raw_event_put(changed + n_changed, &event);
        }
    }
    fixture_pack(&put, changed, n_changed, header);
    CHECK(!put.bad);
    free(scratch);
    free(words);
    return (size_t)(put.p - out);
}

/* Changes, repeats and drops events; the record count is right again. */
static size_t mutate_events(struct random *random, const uint8_t *from, size_t n_bytes,
                            struct block_header *header, uint8_t *out)
{
    struct get get = get_over(from, n_bytes);
    struct put put = put_over(out, MAX_PAYLOAD);
    struct event_coder reading = EVENT_CODER_START(header->first_seq);
    struct event_coder writing = reading;
    struct event event;
    header->n_records = 0;
    while (event_get(&get, &reading, &event)) {
        for (uint64_t times = 1 + random_below(random, 4) / 2; times > 0; times--) {
            if (random_below(random, 3) == 0)
                mutate_event(random, &event);
            event_put(&put, &writing, &event);
            header->n_records++;
        }
    }
    CHECK(!put.bad);
    return (size_t)(put.p - out);
}

/* What is stored becomes other bytes, with a right checksum: what unpacks it meets them. */
static void mutate_stored(struct random *random, uint8_t *block, size_t n_bytes)
{
    const size_t n_stored = n_bytes - BLOCK_HEADER_BYTES;
    struct put crc = put_over(block + BLOCK_HEADER_BYTES - 4, 4);
    for (uint64_t times = 1 + random_below(random, 3); times > 0 && n_stored != 0; times--)
        block[BLOCK_HEADER_BYTES + random_below(random, n_stored)] =
            (uint8_t)random_below(random, 256);
    put_u32(&crc,
            crc32c(crc32c(0, block, BLOCK_HEADER_BYTES - 4), block + BLOCK_HEADER_BYTES, n_stored));
}

static void copy_block(struct random *random, const struct log_fixture *seed, size_t at,
                       struct log_fixture *out)
{
    struct block_header header;
    const size_t start = out->n_bytes;
    uint8_t *payload = malloc(2 * MAX_PAYLOAD);
    uint8_t *changed = payload + MAX_PAYLOAD;
    size_t n_bytes;
    CHECK(payload != NULL);
    CHECK_EQ(block_peek(seed->bytes + at, seed->n_bytes - at, &header), BLOCK_OK);
    CHECK(block_unpack_bytes(&header) < 2 * MAX_PAYLOAD);
    CHECK_EQ(block_unpack(seed->bytes + at, &header, payload), 0);
    n_bytes = header.raw_bytes;
    if (random_below(random, 8) == 0) {
        n_bytes = mutate_bytes(random, payload, n_bytes, MAX_PAYLOAD);
    } else if (random_below(random, 2) == 0 && header.kind != BLOCK_END) {
        n_bytes = header.kind == BLOCK_EVENTS
                      ? mutate_events(random, payload, n_bytes, &header, changed)
                  : header.kind == BLOCK_PACKED
                      ? mutate_packed(random, payload, n_bytes, &header, changed)
                      : mutate_records(random, payload, n_bytes, changed);
        memmove(payload, changed, n_bytes);
    }
    mutate_header(random, &header);
    out->packs_small = random_below(random, 2) != 0;
    fixture_block(out, &header, payload, n_bytes);
    if (random_below(random, 8) == 0)
        mutate_stored(random, out->bytes + start, out->n_bytes - start);
    free(payload);
}

void mutate_blocks(struct random *random, const struct log_fixture *seed, struct log_fixture *out)
{
    size_t at[MAX_BLOCKS + 1];
    size_t n = find_blocks(seed, at);
    fixture_append(out, seed->bytes, FILE_HEADER_BYTES);
    for (size_t i = 0; i < n; i++) {
        uint64_t choice = random_below(random, 16);
        if (choice == 0)
            continue;
        copy_block(random, seed, choice == 1 ? at[random_below(random, n)] : at[i], out);
        if (choice == 2)
            copy_block(random, seed, at[i], out);
    }
    if (random_below(random, 16) == 0)
        out->n_bytes = mutate_bytes(random, out->bytes, out->n_bytes, out->room);
}
