#include "interp/layout.h"

#include "check.h"

#define WORDS 128
#define HEX_3_13 0x030d00f0u

static void write_published_3_13(uint64_t *words)
{
    memcpy(words, "xdebugpy", 8);
    words[1] = HEX_3_13;
    for (int i = 2; i < WORDS; i++)
        words[i] = (uint64_t)i * 8; /* each field tells its own position */
}

static void version_3_12_needs_no_published_table(void)
{
    struct interp_binding binding = {.hexversion = 0x030c01f0};
    struct interp_layout layout;
    CHECK(layout_find(&layout, &binding) == NULL);
    CHECK(layout.frame_is_indirect);
    CHECK_EQ(layout.state_frame, 56);
    CHECK_EQ(layout.code_units, 192);
}

static void published_offsets_are_taken_from_their_positions(void)
{
    uint64_t words[WORDS];
    struct interp_binding binding = {.runtime = words, .hexversion = HEX_3_13};
    struct interp_layout layout;
    write_published_3_13(words);
    CHECK(layout_find(&layout, &binding) == NULL);
    CHECK(!layout.frame_is_indirect);
    CHECK_EQ(layout.state_frame, 23 * 8);
    CHECK_EQ(layout.frame_owner, 33 * 8);
    CHECK_EQ(layout.code_units, 43 * 8);
    CHECK_EQ(layout.text_compact, layout.text_ascii + 16);
}

static void what_is_not_known_is_refused_with_a_reason(void)
{
    uint64_t words[WORDS];
    struct interp_layout layout;
    static const uint32_t unknown[] = {0x030b00f0, 0x031000f0, 0x040000f0,
                                       0x030d00a1, 0x030d00b2, 0x030d00c1};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct interp_binding binding = {.runtime = words, .hexversion = unknown[i]};
        write_published_3_13(words);
        words[1] = unknown[i];
        CHECK(layout_find(&layout, &binding) != NULL);
    }
}

static void a_table_of_another_interpreter_is_refused(void)
{
    uint64_t words[WORDS];
    struct interp_binding binding = {.runtime = words, .hexversion = HEX_3_13};
    struct interp_layout layout;
    write_published_3_13(words);
    words[0]++;
    CHECK(layout_find(&layout, &binding) != NULL);
    write_published_3_13(words);
    words[1]++;
    CHECK(layout_find(&layout, &binding) != NULL);
    write_published_3_13(words);
    words[29] = 1ull << 40; /* the offset of `previous`: no struct is that large */
    CHECK(layout_find(&layout, &binding) != NULL);
    binding.runtime = NULL;
    CHECK(layout_find(&layout, &binding) != NULL);
}

static void free_threaded_builds_came_with_3_13(void)
{
    struct interp_binding binding = {.hexversion = 0x030c01f0, .free_threaded = true};
    struct interp_layout layout;
    CHECK(layout_find(&layout, &binding) != NULL);
}

int main(void)
{
    version_3_12_needs_no_published_table();
    published_offsets_are_taken_from_their_positions();
    what_is_not_known_is_refused_with_a_reason();
    a_table_of_another_interpreter_is_refused();
    free_threaded_builds_came_with_3_13();
    return 0;
}
