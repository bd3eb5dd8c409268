#include "profile/linetable.h"

#include "check.h"

#define HEAD(kind, units) (uint8_t)(0x80 | (kind) << 3 | ((units) - 1))

static struct line_runs decode(const uint8_t *table, size_t n_bytes, uint32_t first_line)
{
    struct line_runs runs = {0};
    CHECK_EQ(line_runs_decode(&runs, table, n_bytes, first_line), 0);
    return runs;
}

static void every_kind_of_entry_moves_the_line(void)
{
    const uint8_t table[] = {
        HEAD(0, 1),  0x10,                              /* same line */
        HEAD(12, 2), 4,        9,                       /* two below */
        HEAD(15, 3),                                    /* none */
        HEAD(13, 1), 0x40 | 5, 1,                       /* (1 << 6 | 5): odd, 34 above */
        HEAD(14, 8), 0x40 | 0, 0x40 | 0x20, 1, 0, 1, 2, /* 6144 / 2 below */
        HEAD(10, 1), 1,        2, /* same line: one run with the entry before */
    };
    struct line_runs runs = decode(table, sizeof table, 100);
    CHECK_EQ(runs.n, 6);
    CHECK_EQ(line_runs_find(&runs, 0), 100);
    CHECK_EQ(line_runs_find(&runs, 1), 102);
    CHECK_EQ(line_runs_find(&runs, 2), 102);
    CHECK_EQ(line_runs_find(&runs, 3), 0);
    CHECK_EQ(line_runs_find(&runs, 5), 0);
    CHECK_EQ(line_runs_find(&runs, 6), 68);
    CHECK_EQ(line_runs_find(&runs, 7), 68 + 3072);
    CHECK_EQ(line_runs_find(&runs, 15), 68 + 3072);
    CHECK_EQ(line_runs_find(&runs, 16), 0); /* behind the code */
    CHECK_EQ(line_runs_find(&runs, UINT32_MAX), 0);
    line_runs_release(&runs);
}

static void malformed_tables_give_what_stands_before(void)
{
    const uint8_t no_head[] = {HEAD(11, 1), 0, 0, 0x05, 1, 2};
    const uint8_t cut[] = {HEAD(11, 1), 0, 0, HEAD(14, 1), 0x41};
    const uint8_t below_zero[] = {HEAD(11, 1), 0, 0, HEAD(13, 1), 0x3f};
    const uint8_t long_varint[] = {HEAD(11, 1), 0,    0,    HEAD(13, 1), 0x7f, 0x7f,
                                   0x7f,        0x7f, 0x7f, 0x7f,        0x7f, 0x3f};
    const struct {
        const uint8_t *table;
        size_t n_bytes;
    } cases[] = {{no_head, sizeof no_head},
                 {cut, sizeof cut},
                 {below_zero, sizeof below_zero},
                 {long_varint, sizeof long_varint}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct line_runs runs = decode(cases[i].table, cases[i].n_bytes, 7);
        CHECK_EQ(line_runs_find(&runs, 0), 8);
        CHECK_EQ(line_runs_find(&runs, 1), 0);
        line_runs_release(&runs);
    }
}

static void an_empty_table_has_no_lines(void)
{
    struct line_runs runs = decode(NULL, 0, 7);
    CHECK_EQ(line_runs_find(&runs, 0), 0);
    line_runs_release(&runs);
}

int main(void)
{
    every_kind_of_entry_moves_the_line();
    malformed_tables_give_what_stands_before();
    an_empty_table_has_no_lines();
    return 0;
}
