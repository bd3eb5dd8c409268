/* Line tables without their columns: every unit keeps its line. */
#include "interp/locations.h"

#include "check.h"

#include <stdbool.h>
#include <string.h>

#define MOST_UNITS 4096
#define NO_LINE INT32_MIN

/* A reading of the format of its own: the line of each unit, relative to the first line. */
static size_t lines_of(const uint8_t *table, size_t n_bytes, int32_t *lines)
{
    size_t at = 0, n = 0;
    int32_t line = 0;
    while (at < n_bytes) {
        uint8_t head = table[at++];
        unsigned kind = head >> 3 & 15, length = (head & 7u) + 1, n_numbers = 0;
        CHECK(head & 0x80);
        if (kind >= 10 && kind <= 12)
            line += (int32_t)kind - 10;
        if (kind == 13 || kind == 14)
            n_numbers = kind == 13 ? 1 : 4;
        for (unsigned i = 0; i < n_numbers; i++) {
            uint32_t value = 0, shift = 0;
            do {
                value |= (table[at] & 0x3fu) << shift;
                shift += 6;
            } while (table[at++] & 0x40);
            if (i == 0)
                line += value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
        }
        if (n_numbers == 0 && kind != 15)
            at += kind >= 10 ? 2 : 1;
        for (; length > 0; length--)
            lines[n++] = kind == 15 ? NO_LINE : line;
    }
    CHECK_EQ(at, n_bytes);
    return n;
}

static void check_table(const uint8_t *table, size_t n_bytes, size_t most)
{
    static int32_t before[MOST_UNITS], after[MOST_UNITS];
    static uint8_t out[MOST_UNITS];
    size_t n_out, n;
    memset(out, 0xa5, sizeof out);
    n_out = locations_strip(table, n_bytes, out);
    CHECK(n_out <= n_bytes && n_out <= most);
    CHECK_EQ(out[n_bytes], 0xa5);
    n = lines_of(table, n_bytes, before);
    CHECK_EQ(lines_of(out, n_out, after), n);
    CHECK(memcmp(before, after, n * sizeof before[0]) == 0);
}

static void every_kind_of_entry_keeps_its_line(void)
{
    static const uint8_t table[] = {
        0x80 | 14 << 3 | 0, 0x42, 0x01, 0x02, 0x03, 0x44, 0x01, /* long, line + 33 */
        0x80 | 0 << 3 | 7,  0x12,                               /* the same line, 8 units */
        0x80 | 9 << 3 | 7,  0x34,                               /* and 8 more */
        0x80 | 11 << 3 | 2, 0x01, 0x02,                         /* line + 1 */
        0x80 | 10 << 3 | 0, 0x03, 0x04,                         /* + 0 */
        0x80 | 15 << 3 | 1,                                     /* none */
        0x80 | 15 << 3 | 4,                                     /* none */
        0x80 | 12 << 3 | 3, 0x05, 0x06,                         /* + 2 */
        0x80 | 13 << 3 | 5, 0x09,                               /* - 4 */
        0x80 | 13 << 3 | 0, 0x01,                               /* "- 0" */
    };
    check_table(table, sizeof table, 26);
}

static void a_long_line_takes_an_entry_for_eight_units(void)
{
    uint8_t table[200];
    for (size_t i = 0; i < sizeof table; i += 2) {
        table[i] = 0x80 | 3 << 3 | 3; /* 4 units of the same line */
        table[i + 1] = (uint8_t)i;
    }
    check_table(table, sizeof table, 100);
}

static uint64_t random_below(uint64_t below)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void any_table_keeps_its_lines(void)
{
    uint8_t table[1024];
    for (int round = 0; round < 2000; round++) {
        size_t n = 0;
        for (uint64_t entries = random_below(60); entries > 0; entries--) {
            unsigned kind = (unsigned)random_below(16);
            table[n++] = (uint8_t)(0x80 | kind << 3 | random_below(8));
            for (unsigned i = kind == 13 ? 1 : kind == 14 ? 4 : 0; i > 0; i--) {
                if (random_below(3) == 0)
                    table[n++] = (uint8_t)(0x40 | random_below(64));
                table[n++] = (uint8_t)random_below(64);
            }
            for (unsigned i = kind < 10 ? 1 : kind < 13 ? 2 : 0; i > 0; i--)
                table[n++] = (uint8_t)random_below(128);
        }
        check_table(table, n, n);
    }
}

static void a_malformed_table_stays_as_it_is(void)
{
    static const uint8_t tables[][3] = {{0x12, 0x34, 0x56}, {0x80, 0x01, 0xf0}, {0xe8, 0x40, 0x40}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        uint8_t out[3];
        CHECK_EQ(locations_strip(tables[i], 3, out), 3);
        CHECK(memcmp(out, tables[i], 3) == 0);
    }
    CHECK_EQ(locations_strip(NULL, 0, NULL), 0);
}

int main(void)
{
    every_kind_of_entry_keeps_its_line();
    a_long_line_takes_an_entry_for_eight_units();
    any_table_keeps_its_lines();
    a_malformed_table_stays_as_it_is();
    return 0;
}
