/* log_fixture.c - see log_fixture.h. */
#include "log_fixture.h"

#include "check.h"
#include "format/nodes.h"
#include "format/pack.h"
#include "format/ring.h"
#include "history/checkpoint.h"

#define A 0x7f0000001000u
#define MAPPED 0x7f1000000000u
#define PAGE 4096u

static const uint8_t session_id[SESSION_ID_BYTES] = "a fixed session";

void fixture_append(struct log_fixture *log, const void *bytes, size_t n_bytes)
{
    if (log->n_bytes + n_bytes > log->room) {
        log->room = 2 * (log->n_bytes + n_bytes);
        log->bytes = realloc(log->bytes, log->room);
        CHECK(log->bytes != NULL);
    }
    memcpy(log->bytes + log->n_bytes, bytes, n_bytes);
    log->n_bytes += n_bytes;
}

void fixture_block(struct log_fixture *log, struct block_header *header, const void *payload,
                   size_t n_bytes)
{
    size_t room = log->packs_small ? block_small_bound(n_bytes) : block_bound(n_bytes);
    uint8_t *out = malloc(room);
    void *workspace =
        malloc(log->packs_small ? block_small_workspace_bytes() : block_workspace_bytes());
    size_t n_out;
    CHECK(out != NULL && workspace != NULL);
    n_out = log->packs_small ? block_pack_small(header, payload, n_bytes, out, room, workspace)
                             : block_pack(header, payload, n_bytes, out, room, workspace);
    CHECK(n_out != 0);
    fixture_append(log, out, n_out);
    free(workspace);
    free(out);
}

static void open_payload(struct log_fixture *log)
{
    log->put = put_over(log->payload, sizeof log->payload);
    log->n_records = 0;
}

void fixture_header(struct log_fixture *log, uint32_t content)
{
    uint8_t bytes[FILE_HEADER_BYTES];
    struct file_header header = {.content = content,
                                 .options = log->options,
                                 .sample_bytes = log->sample_bytes,
                                 .start_wall_ns = 1764486000000000000u,
                                 .start_mono_ns = 1000000000u,
                                 .pid = 4242,
                                 .ppid = 4241,
                                 .python_hexversion = 0x030d00f0};
    memcpy(header.session_id, session_id, sizeof session_id);
    file_header_put(bytes, &header);
    fixture_append(log, bytes, sizeof bytes);
    open_payload(log);
}

void fixture_tables(struct log_fixture *log, enum block_kind kind)
{
    struct block_header header = {.kind = (uint8_t)kind, .mono_ns = 2000000000u};
    static uint8_t gathered[sizeof log->payload + NODES_ROOM];
    size_t n_bytes = (size_t)(log->put.p - log->payload), n = 0;
    CHECK(!log->put.bad);
    header.n_records = log->n_records;
    if (kind == BLOCK_DICT && !log->stores_plainly)
        n = nodes_gather(log->payload, n_bytes, gathered, sizeof gathered);
    fixture_block(log, &header, n != 0 ? gathered : log->payload, n != 0 ? n : n_bytes);
    open_payload(log);
}

/* Events into log->put, as version 1 stored them. */
static void put_plainly(struct log_fixture *log, const struct event *events, size_t n)
{
    struct event_coder coder = EVENT_CODER_START(events[0].seq);
    for (size_t i = 0; i < n; i++)
        event_put(&log->put, &coder, &events[i]);
}

void fixture_pack(struct put *to, const uint64_t *words, size_t n_words,
                  struct block_header *header)
{
    struct packer *packer = malloc(packer_bytes());
    struct packed packed;
    size_t n_taken = n_words;
    CHECK(packer != NULL);
    pack_events(packer, words, &n_taken, true, &packed);
    CHECK_EQ(n_taken, n_words);
    put_bytes(to, packed.payload, packed.n_bytes);
    header->n_records = packed.n_events;
    header->first_seq = packed.first_seq;
    header->last_seq = packed.last_seq;
    free(packer);
}

static void put_packed(struct log_fixture *log, const struct event *events, size_t n,
                       struct block_header *header)
{
    uint64_t *words = malloc(n * RAW_EVENT_MAX_WORDS * sizeof *words);
    size_t n_words = 0;
    CHECK(words != NULL);
    for (size_t i = 0; i < n; i++)
        n_words += raw_event_put(words + n_words, &events[i]);
    fixture_pack(&log->put, words, n_words, header);
    free(words);
}

void fixture_events(struct log_fixture *log, uint32_t stream, const struct event *events, size_t n)
{
    struct block_header header = {.kind = log->stores_plainly ? BLOCK_EVENTS : BLOCK_PACKED,
                                  .stream = stream,
                                  .n_records = (uint32_t)n,
                                  .first_ordinal = log->ordinals[stream],
                                  .first_seq = events[0].seq,
                                  .last_seq = events[n - 1].seq,
                                  .mono_ns = 2500000000u};
    open_payload(log);
    if (log->stores_plainly)
        put_plainly(log, events, n);
    else
        put_packed(log, events, n, &header);
    CHECK(!log->put.bad);
    fixture_block(log, &header, log->payload, (size_t)(log->put.p - log->payload));
    log->ordinals[stream] += n;
    open_payload(log);
}

void fixture_end(struct log_fixture *log)
{
    struct block_header header = {.kind = BLOCK_END, .n_records = 1, .mono_ns = 3000000000u};
    struct rec_end end = {.reason = END_CLEAN, .mono_ns = 3000000000u};
    for (size_t i = 0; i < sizeof log->ordinals / sizeof log->ordinals[0]; i++)
        end.n_events += log->ordinals[i];
    open_payload(log);
    record_put_end(&log->put, &end);
    fixture_block(log, &header, log->payload, (size_t)(log->put.p - log->payload));
    open_payload(log);
}

static void put_string(struct put *to, uint32_t id, const char *text)
{
    struct rec_string rec = {id, text, (uint32_t)strlen(text)};
    record_put_string(to, &rec);
}

static void put_code(struct put *to, uint32_t id, uint32_t name, uint32_t first_line)
{
    /* Two units each on the first line, the next one, and one 5 below that. */
    static const uint8_t linetable[] = {0x80 | 0 << 3 | 1,  0x12, 0x80 | 11 << 3 | 1, 4, 8,
                                        0x80 | 13 << 3 | 1, 10};
    struct rec_code rec = {.id = id,
                           .name = name,
                           .qualname = name,
                           .file = 1,
                           .first_line = first_line,
                           .flags = 3,
                           .linetable = linetable,
                           .linetable_bytes = sizeof linetable};
    record_put_code(to, &rec);
}

static void put_meta(struct put *to, const char *key, const char *value)
{
    struct rec_meta rec = {key, (uint32_t)strlen(key), value, (uint32_t)strlen(value)};
    record_put_meta(to, &rec);
}

/* Strings 1-6, codes 1 main (line 10) and 2 work (line 20); nodes 1 main, 2-4 work on its lines. */
static void put_memory_tables(struct log_fixture *log)
{
    static const char *const strings[] = {"app.py",     "main",     "work",
                                          "MainThread", "worker-1", "caf\xc3\xa9 \xed\xb2\x80"};
    static const struct rec_node nodes[] = {
        {.id = 1, .parent = 0, .code = 1, .unit = 0, .line = 1, .entry = 1},
        {.id = 2, .parent = 1, .code = 2, .unit = 1, .line = 1},
        {.id = 3, .parent = 1, .code = 2, .unit = 2, .line = 3},
        {.id = 4, .parent = 1, .code = 2, .unit = 5, .line = 13},
        {.id = 5, .parent = 2, .code = 1, .unit = 3, .line = 3, .entry = 1}};
    static const struct rec_thread threads[] = {
        {0, 4242, 4, 1000000000u}, {1, 4243, 5, 1500000000u}, {2, 4244, 6, 1600000000u}};
    struct put *to = &log->put;
    for (uint32_t i = 0; i < 6; i++)
        put_string(to, i + 1, strings[i]);
    put_code(to, 1, 2, 10);
    put_code(to, 2, 3, 20);
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct rec_node node = nodes[i];
        node.by_line = !log->stores_plainly;
        record_put_node(to, &node);
    }
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        record_put_thread(to, &threads[i]);
    put_meta(to, "program", "app.py");
    put_meta(to, "argv", "[\"app.py\", \"--fast\"]");
    log->n_records = 18;
    fixture_tables(log, BLOCK_DICT);
}

static const struct event alone[] = {
    {EVENT_MALLOC, 1, A, 100, 0, 0},
    {EVENT_CALLOC, 2, A + 0x100, 200, 0, 0},
    {EVENT_POSIX_MEMALIGN, 3, A + 0x200, 64, 0, 0},
    {EVENT_FREE, 0, A, 0, 0, 0},
    {EVENT_REALLOC, 1, A + 0x300, 300, 0, 0},
    {EVENT_MMAP, 4, MAPPED, 4 * PAGE, 0, 0},
    {EVENT_MUNMAP, 0, MAPPED + PAGE, PAGE, 0, 0},
    {EVENT_PYMALLOC_MALLOC, 2, A + 0x400, 32, 0, 0},
    {EVENT_PYMALLOC_FREE, 0, A + 0x400, 0, 0, 0},
    {EVENT_MALLOC, 0, A + 0x500, 0, 0, 0},
};
static const struct event worker[] = {
    {EVENT_MALLOC, 3, A + 0x600, 1000, 1, 0},
    {EVENT_FREE, 0, A + 0x100, 0, 4, 0},
    {EVENT_UNFREE, 0, A + 0x100, 0, 5, 0},
    {EVENT_ALIGNED_ALLOC, 3, A + 0x700, (uint64_t)5 << 30, 8, 0},
};
static const struct event main_again[] = {
    {EVENT_FREE, 0, A + 0x600, 0, 2, 0},  {EVENT_MALLOC, 5, A + 0x600, 10, 3, 0},
    {EVENT_FREE, 0, A + 0x700, 0, 9, 0},  {EVENT_MARK, 0, MARK_END_OF_SCRIPT, 0, 10, 0},
    {EVENT_FREE, 0, A + 0x600, 0, 11, 0},
};
static const struct event third[] = {{EVENT_VALLOC, 5, A + 0x800, 8, 6, 0},
                                     {EVENT_MARK, 0, MARK_LOST, 2, 7, 0}};

static void put_later_events(struct log_fixture *log)
{
    fixture_events(log, 2, third, sizeof third / sizeof third[0]);
    fixture_events(log, 1, worker, sizeof worker / sizeof worker[0]);
    fixture_events(log, 0, main_again, sizeof main_again / sizeof main_again[0]);
}

void fixture_memory(struct log_fixture *log, bool ended)
{
    fixture_header(log, FILE_HAS_MEMORY);
    put_memory_tables(log);
    fixture_events(log, 0, alone, sizeof alone / sizeof alone[0]);
    put_later_events(log);
    if (ended)
        fixture_end(log);
}

static int put_checkpoint(void *context, const void *records, size_t n_bytes, uint32_t n_records)
{
    struct block_header header = {.kind = BLOCK_CHECKPOINT, .n_records = n_records};
    fixture_block(context, &header, records, n_bytes);
    return 0;
}

void fixture_bounded(struct log_fixture *log)
{
    struct history history = {0};
    const struct checkpoint_sink sink = {put_checkpoint, log};
    const struct checkpoint_cut cut = {0, sizeof alone / sizeof alone[0]};
    log->options = OPTION_AGGREGATE;
    fixture_header(log, FILE_HAS_MEMORY);
    put_memory_tables(log);
    for (size_t i = 0; i < cut.ordinal; i++) {
        if (history_apply(&history, &alone[i], 0, 0, alone[i].node) != APPLY_OK)
            abort();
    }
    if (checkpoint_write(&history, &cut, 1, true, &sink) != 0)
        abort();
    history_release(&history);
    log->ordinals[0] = cut.ordinal;
    put_later_events(log);
    fixture_end(log);
}

void fixture_sampled(struct log_fixture *log)
{
    log->sample_bytes = 1000;
    fixture_memory(log, true);
}

/* Runs of the loop: _start > loop > helper (stored name, inlined part) > loop > leaf (no name). */
static void put_native_tables(struct put *to)
{
    static const struct rec_native_node natives[] = {
        {1, 0, 1, 0x1010, 0},
        {2, 1, 1, 0x1110, NATIVE_EVAL},
        {3, 2, 2, 0x2020, 0},
        {4, 3, 1, 0x1120, NATIVE_EVAL},
        {5, 4, 2, 0x2030, 0},
        {6, 5, 2, 0x2040, NATIVE_SIGNAL},
        {7, 6, 0, 0x7fff0000, NATIVE_EXACT},
    };
    static const struct rec_hybrid hybrids[] = {{1, 1, 2, 0, {0}},
                                                {2, 5, 5, 0, {0}},
                                                {3, 5, 7, 1, {1}},
                                                {4, 5, 3, 0, {0}},
                                                {5, 0, 7, 0, {0}}};
    static const struct rec_symbol symbol = {2, 0x201f, 2};
    static const struct rec_symbol_frame frames[] = {{9, 10, 7}, {8, 10, 20}};
    struct rec_module modules[] = {
        {.id = 1, .path = 7, .flags = MODULE_IS_INTERPRETER, .build_id_bytes = 4},
        {.id = 2, .path = 7, .load_bias = 0x10000, .n_segments = 1, .segments = {{0, 0x4000, 5}}},
    };
    put_string(to, 7, "/nowhere/lib.so");
    put_string(to, 8, "helper");
    put_string(to, 9, "inlined");
    put_string(to, 10, "helper.c");
    for (int i = 0; i < 2; i++)
        record_put_module(to, &modules[i]);
    for (int i = 0; i < 7; i++)
        record_put_native_node(to, &natives[i]);
    for (int i = 0; i < 5; i++)
        record_put_hybrid(to, &hybrids[i]);
    record_put_symbol(to, &symbol, frames);
}

void fixture_native(struct log_fixture *log)
{
    static const struct event events[] = {
        {EVENT_MALLOC, 1, A, 100, 0, 0},         {EVENT_MALLOC, 2, A + 0x100, 200, 0, 0},
        {EVENT_MALLOC, 3, A + 0x200, 300, 0, 0}, {EVENT_MALLOC, 4, A + 0x300, 400, 0, 0},
        {EVENT_MALLOC, 5, A + 0x400, 500, 0, 0},
    };
    log->options = OPTION_NATIVE;
    fixture_header(log, FILE_HAS_MEMORY);
    put_memory_tables(log);
    put_native_tables(&log->put);
    log->n_records = 19;
    fixture_tables(log, BLOCK_DICT);
    fixture_events(log, 0, events, sizeof events / sizeof events[0]);
    fixture_end(log);
}

void fixture_lines(struct log_fixture *log)
{
    static const char source[] = "def fast(n):\n    return n\n\n\ndef slow(n):\n    fast(n)\n";
    static const struct rec_function functions[] = {
        {1, 1, REGIME_COLD, 10, 1000, 900, COLD_CLOCK, 0, 0, 2, 30, 40},
        {2, 1, REGIME_HOT, 5, 50000, 40000, COLD_UNASKED, 9, 1, 0, 50, 60}};
    static const struct rec_line lines[] = {
        {1, 2, 10, 10, 1000, 900, 0, 80, 300, (const uint8_t *)"\0\0\0\0\0\0\x09\0\1", 9, 0, 30,
         40},
        {2, 6, 5, 10, 50000, -40000, 7, 0, 0, NULL, 0, 9, 50, 60}};
    static const struct rec_call calls[] = {{0, 0, 2, 5, 50000, 40000}, {2, 6, 1, 10, 1000, 900}};
    struct rec_source text = {1, 1, source, sizeof source - 1};
    struct put *to = &log->put;
    fixture_header(log, FILE_HAS_LINES);
    put_string(to, 1, "app.py");
    put_string(to, 2, "fast");
    put_string(to, 3, "slow");
    put_code(to, 1, 2, 1);
    put_code(to, 2, 3, 5);
    record_put_source(to, &text);
    put_meta(to, "tool", "lprof");
    log->n_records = 7;
    fixture_tables(log, BLOCK_DICT);
    for (int i = 0; i < 2; i++) {
        record_put_function(&log->put, &functions[i]);
        record_put_line(&log->put, &lines[i]);
        record_put_call(&log->put, &calls[i]);
    }
    log->n_records = 6;
    fixture_tables(log, BLOCK_LINES);
    fixture_end(log);
}

static void ring_slot(uint8_t *at, uint32_t stream, uint64_t base_ordinal,
                      const struct event *events, size_t n)
{
    uint64_t words[64];
    unsigned n_words = 0;
    struct ring_slot slot = {.used = 1, .stream = stream, .base_ordinal = base_ordinal};
    for (size_t i = 0; i < n; i++)
        n_words += raw_event_put(words + n_words, &events[i]);
    slot.committed_bytes = n_words * sizeof words[0];
    memcpy(at, &slot, sizeof slot);
    memcpy(at + sizeof slot, words, n_words * sizeof words[0]);
}

void fixture_ring(uint8_t out[FIXTURE_RING_BYTES])
{
    /* Stream 0 has 15 events in the log: the first of these is one of them. */
    static const struct event main_tail[] = {
        {EVENT_FREE, 0, A + 0x600, 0, 11, 0},
        {EVENT_MALLOC, 6, A + 0x900, (uint64_t)6 << 32, 12, 0}};
    static const struct event third_tail[] = {{EVENT_MUNMAP, 0, MAPPED, 4 * PAGE, 13, 0}};
    struct ring_header header = {.dict_bytes = 1024, .slot_bytes = 1024, .n_slots = 2};
    struct ring_slot dict = {.used = 1};
    struct put put = put_over(out + RING_HEADER_BYTES + sizeof dict, 512);
    struct rec_node node = {.id = 6, .parent = 5, .code = 2, .line = 13, .by_line = true};
    memset(out, 0, FIXTURE_RING_BYTES);
    memcpy(header.magic, RING_MAGIC, sizeof header.magic);
    memcpy(header.session_id, session_id, sizeof session_id);
    memcpy(out, &header, sizeof header);
    record_put_node(&put, &node);
    dict.committed_bytes = (size_t)(put.p - out) - RING_HEADER_BYTES - sizeof dict;
    memcpy(out + RING_HEADER_BYTES, &dict, sizeof dict);
    ring_slot(out + RING_HEADER_BYTES + 1024, 0, 14, main_tail, 2);
    ring_slot(out + RING_HEADER_BYTES + 2048, 2, 2, third_tail, 1);
}

void fixture_small(struct log_fixture *log)
{
    static struct event events[3000];
    const size_t n = sizeof events / sizeof events[0];
    uint64_t random = 88172645463325252ull;
    log->packs_small = true;
    fixture_header(log, FILE_HAS_MEMORY);
    put_memory_tables(log);
    for (size_t i = 0; i < n; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        if (i % 3 == 2)
            events[i] = (struct event){EVENT_FREE, 0, events[i - 1 - random % 2].address, 0, 0, 0};
        else
            events[i] = (struct event){EVENT_MALLOC,
                                       1 + random % 5,
                                       A + (random >> 20 & 0xfff0),
                                       random >> 40 & 255,
                                       0,
                                       0};
    }
    fixture_events(log, 0, events, n / 2);
    fixture_events(log, 0, events + n / 2, n / 2);
    fixture_end(log);
}

void write_file(const char *path, const void *bytes, size_t n_bytes)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_EQ(fwrite(bytes, 1, n_bytes, file), n_bytes);
    CHECK_EQ(fclose(file), 0);
}
