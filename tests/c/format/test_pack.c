/* Events through pack.h and back: what goes in comes out, and nothing else is accepted. */
#include "format/pack.h"

#include "check.h"
#include "format/block.h"

#include <stdlib.h>

#define MOST_WORDS (2 * PACK_EVENTS * RAW_EVENT_MAX_WORDS)

static struct packer *packer;
static uint64_t words[MOST_WORDS], back[MOST_WORDS];
static size_t n_words;
static uint64_t random_state = 1;

static uint64_t random_below(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void add(struct event event)
{
    n_words += raw_event_put(words + n_words, &event);
}

static void add_allocation(enum event_kind kind, uint32_t node, uint64_t address, uint64_t size)
{
    add((struct event){.kind = (uint8_t)kind, .node = node, .address = address, .size = size});
}

static void add_free(uint64_t address)
{
    add((struct event){.kind = EVENT_FREE, .address = address});
}

/* Packs all words and unpacks them into memory of just the right size. */
static struct packed go_there_and_back(void)
{
    struct packed packed;
    size_t n_taken = n_words;
    pack_events(packer, words, &n_taken, true, &packed);
    CHECK_EQ(n_taken, n_words);
    void *scratch = malloc(unpack_scratch_bytes(packed.n_events));
    uint8_t *payload = malloc(packed.n_bytes);
    CHECK(scratch != NULL && payload != NULL);
    memset(scratch, 0xa5, unpack_scratch_bytes(packed.n_events));
    memcpy(payload, packed.payload, packed.n_bytes);
    CHECK_EQ(
        unpack_events(payload, packed.n_bytes, packed.n_events, packed.first_seq, back, scratch),
        n_words);
    CHECK(memcmp(words, back, n_words * sizeof words[0]) == 0);
    free(payload);
    free(scratch);
    return packed;
}

/* What the block takes in the file. */
static size_t stored_bytes(const struct packed *packed)
{
    struct block_header header = {.kind = BLOCK_PACKED, .n_records = packed->n_events};
    size_t room = block_bound(packed->n_bytes), n_bytes;
    uint8_t *out = malloc(room);
    void *workspace = malloc(block_workspace_bytes());
    CHECK(out != NULL && workspace != NULL);
    n_bytes = block_pack(&header, packed->payload, packed->n_bytes, out, room, workspace);
    free(workspace);
    free(out);
    return n_bytes;
}

static void every_kind_of_event_comes_back(void)
{
    static const struct event events[] = {
        {.kind = EVENT_MALLOC, .node = 7, .address = 0x7f0000001000, .size = 100},
        {.kind = EVENT_MALLOC, .node = 7, .address = 0x7f0000001080, .size = 0},
        {.kind = EVENT_MALLOC, .node = UINT32_MAX, .address = 0x7f0000001083, .size = UINT64_MAX},
        {.kind = EVENT_CALLOC, .node = 0, .address = 0, .size = (uint64_t)5 << 32},
        {.kind = EVENT_FREE, .address = 0x7f0000001000},
        {.kind = EVENT_FREE, .address = 0x7f0000001000},
        {.kind = EVENT_FREE, .address = 0xffffffffffff},
        {.kind = EVENT_UNFREE, .address = 0xffffffffffff},
        {.kind = EVENT_MMAP, .node = 3, .address = 0x7f1000000000, .size = 1 << 20},
        {.kind = EVENT_ARENA, .node = 3, .address = 0x7f1000100000, .size = 1 << 20},
        {.kind = EVENT_MUNMAP, .address = 0x7f1000000000, .size = 4096},
        {.kind = EVENT_PYMALLOC_MALLOC, .node = 4, .address = 32, .size = 5, .domain = DOMAIN_OBJ},
        {.kind = EVENT_PYMALLOC_MALLOC, .node = 4, .address = 48, .size = 5, .domain = DOMAIN_RAW},
        {.kind = EVENT_PYMALLOC_FREE, .address = 32},
        {.kind = EVENT_PYMALLOC_REALLOC, .node = 4, .address = 32, .size = 6, .domain = DOMAIN_MEM},
        {.kind = EVENT_MARK, .address = MARK_END_OF_SCRIPT},
        {.kind = EVENT_MARK, .address = MARK_LOST, .size = UINT64_MAX},
    };
    n_words = 0;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        add(events[i]);
    CHECK_EQ(go_there_and_back().n_events, sizeof events / sizeof events[0]);
}

static void seqs_come_back_also_when_they_begin_late(void)
{
    struct packed packed;
    n_words = 0;
    add_allocation(EVENT_MALLOC, 1, 4096, 10);
    for (uint64_t seq = 1000; seq < 1100; seq += 1 + seq % 7)
        add((struct event){.kind = EVENT_MALLOC, .node = 1, .address = seq << 4, .seq = seq});
    packed = go_there_and_back();
    CHECK_EQ(packed.first_seq, 1000);
    CHECK_EQ(packed.last_seq, back[n_words - 1]);
    /* Events that have none of their own stand between them and behind the last. */
    for (uint64_t seq = 2000; seq < 2100; seq += 1 + seq % 7) {
        add((struct event){.kind = EVENT_FREE, .address = seq << 4, .seq = seq});
        for (uint64_t i = 0; i < seq % 5; i++)
            add_allocation(EVENT_MALLOC, 2, seq << 8 | i << 4, 7);
    }
    add((struct event){.kind = EVENT_MUNMAP, .address = 1 << 20, .size = 4096});
    packed = go_there_and_back();
    CHECK_EQ(packed.first_seq, 1000);
    CHECK(packed.last_seq >= 2093);
}

/* Programs in miniature: sites follow each other, blocks are used again, lists are freed. */
static void random_programs_come_back(void)
{
    for (int round = 0; round < 60; round++) {
        static uint64_t live[4096];
        size_t n_live = 0;
        uint32_t n_sites = 1 + (uint32_t)random_below(40);
        n_words = 0;
        for (int i = 0; i < 4000; i++) {
            uint64_t size = random_below(3) ? 16 + random_below(64) : random_below(5000);
            if (n_live != 0 && random_below(2)) {
                size_t which = random_below(2) ? n_live - 1 : random_below(n_live);
                add_free(live[which]);
                live[which] = live[--n_live];
                continue;
            }
            live[n_live] = 0x550000000000 + 16 * random_below(3000);
            add((struct event){.kind = random_below(4) ? EVENT_MALLOC : EVENT_PYMALLOC_MALLOC,
                               .node = (uint32_t)random_below(n_sites),
                               .address = live[n_live++],
                               .size = size,
                               .domain = (uint8_t)random_below(4)});
        }
        (void)go_there_and_back();
    }
}

/* Rows and ages at their largest: as many blocks as there can be, each of a site of its own. */
static void a_block_full_of_sites_comes_back(void)
{
    n_words = 0;
    for (uint32_t i = 0; i < PACK_EVENTS / 2; i++)
        add_allocation(EVENT_MALLOC, i, 0x10000 + 64 * (uint64_t)i, i);
    for (uint32_t i = 0; i < PACK_EVENTS / 2; i++)
        add_free(0x10000 + 64 * ((i * 2654435761ull) % (PACK_EVENTS / 2)));
    CHECK_EQ(go_there_and_back().n_events, PACK_EVENTS);
}

static void what_is_too_much_stays_for_the_next_block(void)
{
    struct packed packed;
    size_t n_taken;
    n_words = 0;
    for (uint32_t i = 0; i < PACK_EVENTS + 5; i++)
        add_free(i);
    n_taken = n_words;
    pack_events(packer, words, &n_taken, false, &packed);
    CHECK_EQ(packed.n_events, PACK_EVENTS);
    CHECK_EQ(n_taken, PACK_EVENTS);
    /* Allocations only, each of a site of its own: the indexes are never full. */
    n_words = 0;
    for (uint32_t i = 0; i < PACK_EVENTS; i++)
        add_allocation(EVENT_MALLOC, i, 16 * (uint64_t)i, i);
    n_taken = n_words;
    pack_events(packer, words, &n_taken, false, &packed);
    CHECK(packed.n_events > PACK_EVENTS / 2 && packed.n_events < PACK_EVENTS);
    CHECK_EQ(n_taken, 2 * packed.n_events);
    memmove(words, words + n_taken, (n_words - n_taken) * sizeof words[0]);
    n_words -= n_taken;
    CHECK_EQ(go_there_and_back().n_events, PACK_EVENTS - packed.n_events);
}

/* The point of it: what repeats costs next to nothing. */
static void a_tight_loop_takes_three_hundredths_of_a_byte_an_event(void)
{
    struct packed packed;
    n_words = 0;
    for (int i = 0; i < 2700; i++) {
        add_allocation(EVENT_MALLOC, 5, 0x5555000012a0, 2033);
        add_free(0x5555000012a0);
    }
    packed = go_there_and_back();
    CHECK_EQ(packed.n_events, 5400);
    CHECK(stored_bytes(&packed) * 100 <= 3 * 5400);
}

static void a_list_of_growing_sizes_that_is_freed_in_order_is_short_too(void)
{
    struct packed packed;
    uint64_t at = 0x5555000012a0;
    n_words = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        add_allocation(EVENT_MALLOC, 5, at, 100 + i);
        at += (100 + i + 23) / 16 * 16;
    }
    at = 0x5555000012a0;
    for (uint64_t i = 0; i < 2000; i++) {
        add_free(at);
        at += (100 + i + 23) / 16 * 16;
    }
    packed = go_there_and_back();
    CHECK(stored_bytes(&packed) < 200);
}

/* Cut or changed payloads: another count of events, or none at all; never a read outside. */
static void malformed_payloads_are_refused_or_harmless(void)
{
    struct packed packed;
    size_t n_taken;
    n_words = 0;
    for (uint32_t i = 0; i < 40; i++) {
        add_allocation(EVENT_MALLOC, i % 5, 4096 + 64 * (uint64_t)(i % 7), i * 3);
        add_free(4096 + 64 * (uint64_t)(i % 9));
    }
    n_taken = n_words;
    pack_events(packer, words, &n_taken, false, &packed);
    void *scratch = malloc(unpack_scratch_bytes(packed.n_events));
    for (size_t n = 0; n < packed.n_bytes; n++) {
        uint8_t *cut = malloc(n + 1);
        CHECK(cut != NULL);
        memcpy(cut, packed.payload, n);
        CHECK_EQ(unpack_events(cut, n, packed.n_events, 0, back, scratch), 0);
        free(cut);
    }
    for (size_t i = 0; i < packed.n_bytes * 8; i++) {
        uint8_t *changed = malloc(packed.n_bytes);
        size_t n;
        CHECK(changed != NULL);
        memcpy(changed, packed.payload, packed.n_bytes);
        changed[i / 8] ^= (uint8_t)(1u << i % 8);
        n = unpack_events(changed, packed.n_bytes, packed.n_events, 0, back, scratch);
        CHECK(n <= packed.n_events * RAW_EVENT_MAX_WORDS);
        free(changed);
    }
    CHECK_EQ(unpack_events(packed.payload, packed.n_bytes, packed.n_events - 1, 0, back, scratch),
             0);
    CHECK_EQ(unpack_events(packed.payload, packed.n_bytes, 0, 0, back, scratch), 0);
    free(scratch);
}

int main(void)
{
    packer = calloc(1, packer_bytes());
    CHECK(packer != NULL);
    every_kind_of_event_comes_back();
    seqs_come_back_also_when_they_begin_late();
    random_programs_come_back();
    a_block_full_of_sites_comes_back();
    what_is_too_much_stays_for_the_next_block();
    a_tight_loop_takes_three_hundredths_of_a_byte_an_event();
    a_list_of_growing_sizes_that_is_freed_in_order_is_short_too();
    malformed_payloads_are_refused_or_harmless();
    free(packer);
    return 0;
}
