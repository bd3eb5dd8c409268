/* NODE records gathered into a NODES record, and read again. */
#include "format/nodes.h"

#include "check.h"

#include <stdlib.h>

static uint8_t records[1 << 16], gathered[(1 << 16) + NODES_ROOM];

static uint64_t random_below(uint64_t below)
{
    static uint64_t state = 3;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void put_text(struct put *to, uint32_t id)
{
    struct rec_string text = {id, "some text", 9};
    record_put_string(to, &text);
}

/* Other records stay in their order; the nodes come behind them, each as it was. */
static void check_gathering(bool by_line)
{
    static struct rec_node nodes[1000];
    struct put put = put_over(records, sizeof records);
    struct get get, payload;
    struct nodes_reader reader;
    struct rec_node node;
    uint32_t n_texts = 0;
    size_t n;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t id = 77 + i;
        nodes[i] = (struct rec_node){id,
                                     (uint32_t)random_below(id),
                                     1 + (uint32_t)random_below(i % 2 ? 50 : UINT32_MAX - 1),
                                     (uint32_t)random_below(i % 3 ? 300 : UINT32_MAX),
                                     (uint8_t)random_below(2),
                                     by_line,
                                     (uint32_t)random_below(i % 3 ? 300 : UINT32_MAX)};
        record_put_node(&put, &nodes[i]);
        if (i % 10 == 0)
            put_text(&put, i + 1);
    }
    CHECK(!put.bad);
    n = nodes_gather(records, (size_t)(put.p - records), gathered, sizeof gathered);
    CHECK(n != 0 && n < (size_t)(put.p - records));
    get = get_over(gathered, n);
    while (n_texts < 100) {
        CHECK_EQ(table_next(&get, &payload), TABLE_STRING);
        n_texts++;
    }
    CHECK_EQ(table_next(&get, &payload), by_line ? TABLE_LINE_NODES : TABLE_NODES);
    CHECK_EQ(table_next(&get, &(struct get){0}), 0);
    CHECK_EQ(nodes_open(&reader, payload, by_line), 0);
    CHECK_EQ(reader.n_left, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        CHECK_EQ(nodes_next(&reader, &node), 0);
        CHECK_EQ(node.id, nodes[i].id);
        CHECK_EQ(node.parent, nodes[i].parent);
        CHECK_EQ(node.code, nodes[i].code);
        CHECK_EQ(node.by_line, by_line);
        CHECK_EQ(by_line ? node.line : node.unit, by_line ? nodes[i].line : nodes[i].unit);
        CHECK_EQ(node.entry, nodes[i].entry);
    }
}

static void what_is_gathered_is_what_was_there(void)
{
    check_gathering(false);
    check_gathering(true);
}

static size_t gather(const uint32_t *ids, size_t n)
{
    struct put put = put_over(records, sizeof records);
    for (size_t i = 0; i < n; i++) {
        struct rec_node node = {.id = ids[i], .code = 1, .unit = 2};
        record_put_node(&put, &node);
    }
    return nodes_gather(records, (size_t)(put.p - records), gathered, sizeof gathered);
}

static void what_does_not_fit_is_left_alone(void)
{
    CHECK_EQ(gather((uint32_t[]){5}, 1), 0); /* one needs no columns */
    CHECK_EQ(gather((uint32_t[]){5, 7}, 2), 0);
    CHECK_EQ(gather((uint32_t[]){5, 4}, 2), 0);
    CHECK(gather((uint32_t[]){5, 6, 7}, 3) != 0);
    CHECK_EQ(nodes_gather(records, 0, gathered, sizeof gathered), 0);
    CHECK_EQ(nodes_gather(records, 27, gathered, 20), 0);
}

/* One record has one kind of places. */
static void units_and_lines_are_not_mixed(void)
{
    struct put put = put_over(records, sizeof records);
    record_put_node(&put, &(struct rec_node){.id = 5, .code = 1, .unit = 2});
    record_put_node(&put, &(struct rec_node){.id = 6, .code = 1, .line = 2, .by_line = true});
    CHECK_EQ(nodes_gather(records, (size_t)(put.p - records), gathered, sizeof gathered), 0);
}

/* Cut or changed: refused, or other nodes; never a read outside. */
static void malformed_records_are_refused_or_harmless(void)
{
    size_t n = gather((uint32_t[]){5, 6, 7, 8, 9}, 5);
    for (size_t i = 0; i <= n * 8; i++) {
        size_t length = i < n ? i : n;
        uint8_t *copy = malloc(length + 1);
        struct get get, payload;
        struct nodes_reader reader;
        struct rec_node node;
        CHECK(copy != NULL);
        memcpy(copy, gathered, length);
        if (length == n && i < n * 8)
            copy[i / 8] ^= (uint8_t)(1u << i % 8);
        get = get_over(copy, length);
        if (table_next(&get, &payload) == TABLE_NODES && nodes_open(&reader, payload, false) == 0) {
            CHECK(reader.n_left <= n);
            while (reader.n_left > 0 && nodes_next(&reader, &node) == 0)
                ;
        }
        free(copy);
    }
}

int main(void)
{
    what_is_gathered_is_what_was_there();
    what_does_not_fit_is_left_alone();
    units_and_lines_are_not_mixed();
    malformed_records_are_refused_or_harmless();
    return 0;
}
