#include "format/record_native.h"

#include "check.h"

static uint8_t bytes[4096];

static void a_module_comes_back(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct get from, payload;
    struct rec_module module = {
        .id = 3,
        .path = 400,
        .flags = MODULE_IS_INTERPRETER,
        .load_bias = 0x7fff12345000,
        .file_bytes = 1 << 20,
        .file_mtime_ns = 1700000000123456789u,
        .build_id_bytes = 20,
        .build_id = "0123456789abcdefghi",
        .n_segments = 2,
        .segments = {{0, 0x1000, 4}, {0x1000, 0x4000, 5}},
    };
    struct rec_module got;
    record_put_module(&to, &module);
    from = get_over(bytes, (size_t)(to.p - bytes));
    CHECK_EQ(table_next(&from, &payload), TABLE_MODULE);
    record_get_module(&payload, &got);
    CHECK(!payload.bad);
    CHECK_EQ(got.id, 3);
    CHECK_EQ(got.path, 400);
    CHECK_EQ(got.flags, MODULE_IS_INTERPRETER);
    CHECK_EQ(got.load_bias, module.load_bias);
    CHECK_EQ(got.file_bytes, module.file_bytes);
    CHECK_EQ(got.file_mtime_ns, module.file_mtime_ns);
    CHECK_EQ(got.build_id_bytes, 20);
    CHECK(memcmp(got.build_id, module.build_id, 20) == 0);
    CHECK_EQ(got.n_segments, 2);
    CHECK_EQ(got.segments[1].address, 0x1000);
    CHECK_EQ(got.segments[1].n_bytes, 0x4000);
    CHECK_EQ(got.segments[1].flags, 5);
}

static void numbers_of_a_module_are_not_believed(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct get payload;
    struct rec_module got;
    for (int i = 0; i < 6; i++)
        put_varint(&to, 1);
    put_varint(&to, BUILD_ID_MAX_BYTES + 1);
    payload = get_over(bytes, sizeof bytes);
    record_get_module(&payload, &got);
    CHECK(payload.bad);
    to.p--;
    put_varint(&to, 0);
    put_varint(&to, MODULE_MAX_SEGMENTS + 1);
    payload = get_over(bytes, sizeof bytes);
    record_get_module(&payload, &got);
    CHECK(payload.bad);
}

static void native_nodes_and_hybrids_come_back(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct get from, payload;
    struct rec_native_node node = {7, 6, 5, 0xffffffff81000000u, NATIVE_EVAL | NATIVE_EXACT}, node2;
    struct rec_hybrid hybrid = {4, 3, 2, 2, {1, 300}}, hybrid2;
    record_put_native_node(&to, &node);
    record_put_hybrid(&to, &hybrid);
    from = get_over(bytes, (size_t)(to.p - bytes));
    CHECK_EQ(table_next(&from, &payload), TABLE_NATIVE_NODE);
    record_get_native_node(&payload, &node2);
    CHECK(!payload.bad);
    CHECK_EQ(node2.id, 7);
    CHECK_EQ(node2.parent, 6);
    CHECK_EQ(node2.module, 5);
    CHECK(node2.address == node.address);
    CHECK_EQ(node2.flags, node.flags);
    CHECK_EQ(table_next(&from, &payload), TABLE_HYBRID);
    record_get_hybrid(&payload, &hybrid2);
    CHECK(!payload.bad);
    CHECK_EQ(hybrid2.id, 4);
    CHECK_EQ(hybrid2.python, 3);
    CHECK_EQ(hybrid2.native, 2);
    CHECK_EQ(hybrid2.n_bare, 2);
    CHECK_EQ(hybrid2.bare[0], 1);
    CHECK_EQ(hybrid2.bare[1], 300);
}

static void a_symbol_comes_back_with_what_was_inlined(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct get from, payload;
    struct rec_symbol symbol = {2, 0x1139, 2}, got;
    struct rec_symbol_frame frames[] = {{1, 2, 3}, {4, 2, 500000}}, frame;
    record_put_symbol(&to, &symbol, frames);
    from = get_over(bytes, (size_t)(to.p - bytes));
    CHECK_EQ(table_next(&from, &payload), TABLE_SYMBOL);
    record_get_symbol(&payload, &got);
    CHECK_EQ(got.module, 2);
    CHECK_EQ(got.address, 0x1139);
    CHECK_EQ(got.n_frames, 2);
    record_get_symbol_frame(&payload, &frame);
    CHECK_EQ(frame.name, 1);
    record_get_symbol_frame(&payload, &frame);
    CHECK(!payload.bad);
    CHECK_EQ(frame.name, 4);
    CHECK_EQ(frame.file, 2);
    CHECK_EQ(frame.line, 500000);
}

static void more_frames_than_a_symbol_can_hold_are_bad(void)
{
    struct put to = put_over(bytes, sizeof bytes);
    struct get payload;
    struct rec_symbol got;
    put_varint(&to, 1);
    put_varint(&to, 1);
    put_varint(&to, 1000000);
    payload = get_over(bytes, (size_t)(to.p - bytes));
    record_get_symbol(&payload, &got);
    CHECK(payload.bad);
}

int main(void)
{
    a_module_comes_back();
    numbers_of_a_module_are_not_believed();
    native_nodes_and_hybrids_come_back();
    a_symbol_comes_back_with_what_was_inlined();
    more_frames_than_a_symbol_can_hold_are_bad();
    return 0;
}
