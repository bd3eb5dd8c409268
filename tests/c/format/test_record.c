#include "format/record.h"

#include "check.h"

static uint8_t bytes[4096];

static void the_file_header_comes_back_and_a_flipped_bit_is_seen(void)
{
    uint8_t out[FILE_HEADER_BYTES];
    struct file_header put = {.content = FILE_HAS_LINES,
                              .options = OPTION_NATIVE,
                              .start_wall_ns = 1,
                              .start_mono_ns = 2,
                              .pid = 3,
                              .ppid = 4,
                              .python_hexversion = 0x030d00f0,
                              .session_id = "0123456789abcde"};
    struct file_header got;
    file_header_put(out, &put);
    CHECK_EQ(file_header_get(out, sizeof out, &got), HEADER_OK);
    CHECK_EQ(got.version, FORMAT_VERSION);
    CHECK_EQ(got.content, put.content);
    CHECK_EQ(got.options, put.options);
    CHECK_EQ(got.start_wall_ns, 1);
    CHECK_EQ(got.start_mono_ns, 2);
    CHECK_EQ(got.pid, 3);
    CHECK_EQ(got.ppid, 4);
    CHECK_EQ(got.python_hexversion, put.python_hexversion);
    CHECK(memcmp(got.session_id, put.session_id, SESSION_ID_BYTES) == 0);
    for (size_t bit = 0; bit < sizeof out * 8; bit++) {
        out[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(file_header_get(out, sizeof out, &got) != HEADER_OK);
        out[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void each_fault_of_a_header_has_its_own_verdict(void)
{
    uint8_t out[FILE_HEADER_BYTES];
    struct file_header header = {.content = FILE_HAS_MEMORY};
    file_header_put(out, &header);
    CHECK_EQ(file_header_get(out, 0, &header), HEADER_EMPTY);
    CHECK_EQ(file_header_get((const uint8_t *)"hello world", 11, &header), HEADER_NOT_OURS);
    CHECK_EQ(file_header_get((const uint8_t *)"h", 1, &header), HEADER_NOT_OURS);
    CHECK_EQ(file_header_get(out, 5, &header), HEADER_CUT);
    CHECK_EQ(file_header_get(out, FILE_HEADER_BYTES - 1, &header), HEADER_CUT);
    out[10] = FORMAT_VERSION + 1; /* min_reader: no checksum of a later layout is asked for */
    CHECK_EQ(file_header_get(out, sizeof out, &header), HEADER_TOO_NEW);
    out[10] = FORMAT_MIN_READER;
    out[12] = 1, out[13] = 2, out[14] = 3, out[15] = 4;
    CHECK_EQ(file_header_get(out, sizeof out, &header), HEADER_BYTEORDER);
}

static void table_records_come_back(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct get from, payload;
    struct rec_string string = {300, "caf\xc3\xa9", 5}, string2;
    struct rec_code code = {1, 2, 3, 4, 500, 6, (const uint8_t *)"\x80\x00", 2}, code2;
    struct rec_node node = {9, 8, 7, UINT32_MAX, 1, false, 0}, node2;
    struct rec_thread thread = {1, 70000, 3, 1ull << 60}, thread2;
    struct rec_meta meta = {"key", 3, "", 0}, meta2;
    struct rec_source source = {1, 2, "x = 1\n", 6}, source2;
    struct rec_function function = {1, 2, REGIME_HOT, 3, -4, 5, COLD_TRACE, 6, 7, 8, 9, 10},
                        function2;
    struct rec_line line = {1, 70000,     3,  4,          -5,
                            6, INT64_MIN, 7,  1ull << 40, (const uint8_t *)"\1\0\x80\2",
                            4, 11,        12, 13},
                    line2;
    struct rec_call call = {1, 2, 3, 4, -5, 6}, call2;
    uint64_t buckets[LINE_BUCKETS_MAX];
    record_put_string(&to, &string);
    record_put_code(&to, &code);
    record_put_node(&to, &node);
    node.by_line = true;
    node.line = UINT32_MAX - 1;
    record_put_node(&to, &node);
    record_put_thread(&to, &thread);
    record_put_meta(&to, &meta);
    record_put_source(&to, &source);
    record_put_function(&to, &function);
    record_put_line(&to, &line);
    record_put_call(&to, &call);
    CHECK(!to.bad);

    from = get_over(bytes, (size_t)(to.p - bytes));
    CHECK_EQ(table_next(&from, &payload), TABLE_STRING);
    record_get_string(&payload, &string2);
    CHECK_EQ(string2.id, 300);
    CHECK(string2.n_bytes == 5 && memcmp(string2.text, string.text, 5) == 0);
    CHECK_EQ(table_next(&from, &payload), TABLE_CODE);
    record_get_code(&payload, &code2);
    CHECK(code2.id == 1 && code2.name == 2 && code2.qualname == 3 && code2.file == 4);
    CHECK(code2.first_line == 500 && code2.flags == 6 && code2.linetable_bytes == 2);
    CHECK_EQ(table_next(&from, &payload), TABLE_NODE);
    record_get_node(&payload, &node2);
    CHECK(node2.id == 9 && node2.parent == 8 && node2.code == 7 && node2.entry == 1);
    CHECK_EQ(node2.unit, UINT32_MAX);
    CHECK(!node2.by_line && !payload.bad);
    CHECK_EQ(table_next(&from, &payload), TABLE_LINE_NODE);
    record_get_line_node(&payload, &node2);
    CHECK(node2.id == 9 && node2.parent == 8 && node2.code == 7 && node2.entry == 1);
    CHECK(node2.by_line && node2.line == UINT32_MAX - 1 && !payload.bad);
    CHECK_EQ(table_next(&from, &payload), TABLE_THREAD);
    record_get_thread(&payload, &thread2);
    CHECK(thread2.index == 1 && thread2.tid == 70000 && thread2.name == 3);
    CHECK(thread2.start_mono_ns == 1ull << 60);
    CHECK_EQ(table_next(&from, &payload), TABLE_META);
    record_get_meta(&payload, &meta2);
    CHECK(meta2.key_bytes == 3 && meta2.value_bytes == 0 && !payload.bad);
    CHECK_EQ(table_next(&from, &payload), TABLE_SOURCE);
    record_get_source(&payload, &source2);
    CHECK(source2.id == 1 && source2.file == 2 && source2.n_bytes == 6);
    CHECK_EQ(table_next(&from, &payload), TABLE_FUNCTION);
    record_get_function(&payload, &function2);
    CHECK(function2.code == 1 && function2.source == 2 && function2.regime == REGIME_HOT);
    CHECK(function2.calls == 3 && function2.inclusive_ns == -4 && function2.exclusive_ns == 5);
    CHECK(function2.reason == COLD_TRACE && function2.samples == 6 && function2.discarded == 7);
    CHECK(function2.yields == 8 && function2.exclusive_error_ns == 9);
    CHECK_EQ(function2.inclusive_error_ns, 10);
    CHECK_EQ(table_next(&from, &payload), TABLE_LINE);
    record_get_line(&payload, &line2);
    CHECK(line2.code == 1 && line2.line == 70000 && line2.hits == 3 && line2.raw_hits == 4);
    CHECK(line2.inclusive_ns == -5 && line2.exclusive_ns == 6 && line2.await_ns == INT64_MIN);
    CHECK(line2.min_ns == 7 && line2.max_ns == 1ull << 40 && line2.samples == 11);
    CHECK(line2.exclusive_error_ns == 12 && line2.inclusive_error_ns == 13);
    CHECK_EQ(record_get_buckets(&line2, buckets), 3);
    CHECK(buckets[0] == 1 && buckets[1] == 0 && buckets[2] == 256 && buckets[3] == 0);
    CHECK_EQ(table_next(&from, &payload), TABLE_CALL);
    record_get_call(&payload, &call2);
    CHECK(call2.caller == 1 && call2.line == 2 && call2.callee == 3 && call2.calls == 4);
    CHECK(call2.inclusive_ns == -5 && call2.exclusive_ns == 6 && !payload.bad);
    CHECK_EQ(table_next(&from, &payload), 0);
    CHECK(!from.bad);
}

static void what_the_first_writers_did_not_know_is_zero(void)
{
    const uint8_t function_bytes[] = {1, 2, REGIME_COLD, 3, 4, 5};
    const uint8_t line_bytes[] = {1, 2, 3, 4, 5, 6, 8};
    struct get from = get_over(function_bytes, sizeof function_bytes);
    struct rec_function function;
    struct rec_line line;
    record_get_function(&from, &function);
    CHECK(!from.bad && function.exclusive_ns == -3);
    CHECK(function.reason == 0 && function.samples == 0 && function.inclusive_error_ns == 0);
    from = get_over(line_bytes, sizeof line_bytes);
    record_get_line(&from, &line);
    CHECK(!from.bad && line.await_ns == 4);
    CHECK(line.max_ns == 0 && line.histogram_bytes == 0 && line.inclusive_error_ns == 0);
}

static void a_histogram_of_too_many_buckets_ends_in_the_last(void)
{
    uint8_t ones[100];
    uint64_t buckets[LINE_BUCKETS_MAX];
    struct rec_line line = {.histogram = ones, .histogram_bytes = sizeof ones};
    memset(ones, 1, sizeof ones);
    CHECK_EQ(record_get_buckets(&line, buckets), LINE_BUCKETS_MAX);
    CHECK_EQ(buckets[LINE_BUCKETS_MAX - 2], 1);
    CHECK_EQ(buckets[LINE_BUCKETS_MAX - 1], sizeof ones - LINE_BUCKETS_MAX + 1);
}

static void an_unknown_table_record_and_unknown_fields_are_skipped(void)
{
    /* tag 99 with 3 bytes, then a string record with an id and a text */
    const uint8_t log[] = {99, 3, 0, 0, 0, 1, 2, 3, TABLE_STRING, 2, 0, 0, 0, 5, 'x'};
    struct get from = get_over(log, sizeof log), payload;
    struct rec_string string;
    CHECK_EQ(table_next(&from, &payload), 99);
    CHECK_EQ(table_next(&from, &payload), TABLE_STRING);
    record_get_string(&payload, &string);
    CHECK(string.id == 5 && string.n_bytes == 1 && string.text[0] == 'x');
}

static void a_table_record_longer_than_its_block_is_bad(void)
{
    const uint8_t log[] = {TABLE_STRING, 0xff, 0xff, 0xff, 0x7f, 5, 'x'};
    struct get from = get_over(log, sizeof log), payload;
    CHECK_EQ(table_next(&from, &payload), 0);
    CHECK(from.bad);
}

static const struct event events[] = {
    {.kind = EVENT_MALLOC, .address = 0x7fff12345670, .size = 100, .node = 5},
    {.kind = EVENT_FREE, .address = 0x7fff12345670},
    {.kind = EVENT_MALLOC, .address = 0x55d1c0ffee08, .size = 0, .node = 5},
    {.kind = EVENT_CALLOC, .address = 0x10, .size = UINT32_MAX, .node = UINT32_MAX},
    {.kind = EVENT_MMAP, .address = 0x7f0000000000, .size = 1ull << 40, .node = 1, .seq = 1},
    {.kind = EVENT_MUNMAP, .address = 0x7f0000000000, .size = 4096, .seq = 2},
    {.kind = EVENT_FREE, .address = 0xffffffffffff, .seq = 1ull << 33},
    {.kind = EVENT_UNFREE, .address = 0xffffffffffff, .seq = (1ull << 33) + 1},
    {.kind = EVENT_MARK, .address = MARK_LOST, .size = 12, .seq = 1ull << 34},
};
#define N_EVENTS (sizeof events / sizeof *events)

static void check_same(const struct event *got, const struct event *want)
{
    CHECK_EQ(got->kind, want->kind);
    CHECK(got->address == want->address);
    CHECK(got->size == want->size);
    CHECK(got->seq == want->seq);
    CHECK(!event_is_allocation(want->kind) || got->node == want->node);
}

static void raw_events_come_back(void)
{
    uint64_t words[N_EVENTS * RAW_EVENT_MAX_WORDS];
    unsigned n = 0, at = 0;
    for (size_t i = 0; i < N_EVENTS; i++) {
        unsigned took = raw_event_put(words + n, &events[i]);
        CHECK(took >= 1 && took <= RAW_EVENT_MAX_WORDS);
        n += took;
    }
    CHECK_EQ(raw_event_put(words + n, &events[0]), 2); /* 16 bytes: the common allocation */
    CHECK_EQ(raw_event_put(words + n, &events[1]), 1); /* 8 bytes: the common free */
    for (size_t i = 0; i < N_EVENTS; i++) {
        struct event got;
        unsigned took = raw_event_get(words + at, n - at, &got);
        CHECK(took > 0);
        check_same(&got, &events[i]);
        for (unsigned cut = 0; cut < took; cut++)
            CHECK_EQ(raw_event_get(words + at, cut, &got), 0);
        at += took;
    }
    CHECK_EQ(at, n);
}

static void stored_events_come_back(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct event_coder coder = EVENT_CODER_START(1);
    struct event got;
    struct get from;
    size_t i = 0;
    for (i = 0; i < N_EVENTS; i++)
        event_put(&to, &coder, &events[i]);
    CHECK(!to.bad);
    from = get_over(bytes, (size_t)(to.p - bytes));
    coder = EVENT_CODER_START(1);
    for (i = 0; event_get(&from, &coder, &got); i++)
        check_same(&got, &events[i]);
    CHECK_EQ(i, N_EVENTS);
    CHECK(!from.bad);
}

static void a_free_after_its_allocation_takes_two_bytes(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct event_coder coder = EVENT_CODER_START(0);
    uint8_t *before;
    event_put(&to, &coder, &events[0]);
    before = to.p;
    event_put(&to, &coder, &events[1]);
    CHECK_EQ(to.p - before, 2);
}

static void an_unknown_event_kind_is_bad(void)
{
    uint8_t log[] = {23, 0};
    struct get from = get_over(log, sizeof log);
    struct event_coder coder = EVENT_CODER_START(0);
    struct event got;
    CHECK(!event_get(&from, &coder, &got));
    CHECK(from.bad);
}

static void the_end_record_comes_back(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct rec_end end = {END_WRITE_FAILED, 28, 1ull << 40, 3, 4}, got;
    struct get from;
    record_put_end(&to, &end);
    from = get_over(bytes, (size_t)(to.p - bytes));
    record_get_end(&from, &got);
    CHECK(!from.bad && get_left(&from) == 0);
    CHECK(got.reason == END_WRITE_FAILED && got.error == 28 && got.n_events == 1ull << 40);
    CHECK(got.n_lost == 3 && got.mono_ns == 4);
}

int main(void)
{
    the_file_header_comes_back_and_a_flipped_bit_is_seen();
    each_fault_of_a_header_has_its_own_verdict();
    table_records_come_back();
    what_the_first_writers_did_not_know_is_zero();
    a_histogram_of_too_many_buckets_ends_in_the_last();
    an_unknown_table_record_and_unknown_fields_are_skipped();
    a_table_record_longer_than_its_block_is_bad();
    raw_events_come_back();
    stored_events_come_back();
    a_free_after_its_allocation_takes_two_bytes();
    an_unknown_event_kind_is_bad();
    the_end_record_comes_back();
    return 0;
}
