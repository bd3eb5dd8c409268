/* Lines of units, out of tables of every kind. */
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

static uint64_t random_below(uint64_t below)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void check_unit(struct location_search *search, const uint8_t *table, size_t n_bytes,
                       uint32_t unit, int32_t expected)
{
    int64_t line = 0;
    bool has_line = locations_find(search, table, n_bytes, unit, &line);
    CHECK_EQ(has_line, expected != NO_LINE);
    if (has_line)
        CHECK_EQ(line, expected);
}

/* Forwards, as functions run; then anywhere, back and forth; then each by a search of its own. */
static void check_table(const uint8_t *table, size_t n_bytes)
{
    static int32_t lines[MOST_UNITS];
    struct location_search search = {0};
    const size_t n = lines_of(table, n_bytes, lines);
    lines[n] = NO_LINE;
    for (size_t unit = 0; unit <= n; unit += 1 + random_below(3))
        check_unit(&search, table, n_bytes, (uint32_t)unit, lines[unit]);
    for (int times = 0; times < 20; times++) {
        const size_t unit = random_below(n + 1);
        check_unit(&search, table, n_bytes, (uint32_t)unit, lines[unit]);
    }
    for (size_t unit = 0; unit <= n; unit++) {
        search = (struct location_search){0};
        check_unit(&search, table, n_bytes, (uint32_t)unit, lines[unit]);
    }
}

static void every_kind_of_entry_has_its_line(void)
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
    check_table(table, sizeof table);
}

static void a_long_line_has_many_entries(void)
{
    uint8_t table[200];
    for (size_t i = 0; i < sizeof table; i += 2) {
        table[i] = 0x80 | 3 << 3 | 3; /* 4 units of the same line */
        table[i + 1] = (uint8_t)i;
    }
    check_table(table, sizeof table);
}

static void every_unit_of_any_table_is_found(void)
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
        check_table(table, n);
    }
}

static void a_malformed_table_has_the_lines_before_the_fault(void)
{
    static const uint8_t good[] = {0x80 | 11 << 3 | 1, 1, 2, 0x12, 0x34};
    static const uint8_t tables[][3] = {{0x12, 0x34, 0x56}, {0xe8, 0x40, 0x40}, {0xf0, 0x01, 0x02}};
    struct location_search search = {0};
    int64_t line = 0;
    CHECK(locations_find(&search, good, sizeof good, 1, &line));
    CHECK_EQ(line, 1);
    CHECK(!locations_find(&search, good, sizeof good, 2, &line));
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        CHECK(!locations_find(&search, tables[i], 3, 0, &line));
    CHECK(!locations_find(&search, good, 0, 0, &line));
}

/* The memory of a table may be another's, or the same one's and shorter. */
static void another_table_is_read_from_its_start(void)
{
    static const uint8_t first[] = {0x80 | 12 << 3 | 7, 1, 2, 0x80 | 12 << 3 | 7, 1, 2};
    static const uint8_t second[] = {0x80 | 11 << 3 | 7, 1, 2, 0x80 | 11 << 3 | 7, 1, 2};
    struct location_search search = {0};
    int64_t line = 0;
    CHECK(locations_find(&search, first, sizeof first, 9, &line));
    CHECK_EQ(line, 4);
    CHECK(locations_find(&search, second, sizeof second, 9, &line));
    CHECK_EQ(line, 2);
    CHECK(!locations_find(&search, second, 0, 9, &line));
}

int main(void)
{
    every_kind_of_entry_has_its_line();
    a_long_line_has_many_entries();
    every_unit_of_any_table_is_found();
    a_malformed_table_has_the_lines_before_the_fault();
    another_table_is_read_from_its_start();
    return 0;
}
