/* nodes.c - see nodes.h. */
#include "format/nodes.h"

#include "format/table_parts.h"

enum column { PARENTS, CODES, PLACES, N_COLUMNS };

static bool is_node(uint8_t tag)
{
    return tag == TABLE_NODE || tag == TABLE_LINE_NODE;
}

static void get_node(struct get *payload, uint8_t tag, struct rec_node *node)
{
    if (tag == TABLE_NODE)
        record_get_node(payload, node);
    else
        record_get_line_node(payload, node);
}

/* Goes over the NODE records; false at the end. */
static bool next_node(struct get *records, struct rec_node *node)
{
    struct get payload;
    uint8_t tag;
    while ((tag = table_next(records, &payload)) != 0) {
        if (is_node(tag)) {
            get_node(&payload, tag, node);
            return !payload.bad;
        }
    }
    return false;
}

/*
 * Copies all other records; returns how many nodes there are, 0 when they are not of one kind or
 * their ids have gaps.
 */
static uint32_t copy_others(struct get records, struct put *to, struct rec_node *first)
{
    struct rec_node node;
    struct get payload;
    uint32_t n = 0;
    for (;;) {
        const uint8_t *start = records.p;
        uint8_t tag = table_next(&records, &payload);
        if (tag == 0)
            return n;
        if (!is_node(tag)) {
            put_bytes(to, start, (size_t)(records.p - start));
            continue;
        }
        get_node(&payload, tag, &node);
        if (n == 0)
            *first = node;
        if (payload.bad || node.id != first->id + n || node.by_line != first->by_line)
            return 0;
        n++;
    }
}

static void put_column(struct put *to, struct get records, enum column column)
{
    struct rec_node node;
    uint32_t code = 0;
    while (next_node(&records, &node)) {
        if (column == PARENTS)
            put_varint(to, zigzag((int64_t)node.id - (int64_t)node.parent));
        else if (column == CODES)
            put_varint(to, zigzag((int64_t)node.code - (int64_t)code));
        else
            put_varint(to, (uint64_t)(node.by_line ? node.line : node.unit) << 1 | node.entry);
        code = node.code;
    }
}

/* A column with its length in front, in four bytes since it is known afterwards only. */
static void put_column_with_length(struct put *to, struct get records, enum column column)
{
    uint8_t *head = to->p;
    struct put length;
    put_u32(to, 0);
    put_column(to, records, column);
    if (to->bad)
        return;
    length = put_over(head, 4);
    put_u32(&length, (uint32_t)(to->p - head - 4));
}

size_t nodes_gather(const uint8_t *records, size_t n_bytes, uint8_t *out, size_t room)
{
    const struct get from = get_over(records, n_bytes);
    struct put to = put_over(out, room);
    struct rec_node first = {0};
    uint32_t n = copy_others(from, &to, &first);
    uint8_t *head;
    if (n < 2 || to.bad)
        return 0;
    head = record_open(&to, first.by_line ? TABLE_LINE_NODES : TABLE_NODES);
    put_varint(&to, n);
    put_varint(&to, first.id);
    for (enum column column = PARENTS; column < N_COLUMNS; column++)
        put_column_with_length(&to, from, column);
    record_close(&to, head);
    return to.bad ? 0 : (size_t)(to.p - out);
}

int nodes_open(struct nodes_reader *reader, struct get payload, bool by_line)
{
    struct get *const columns[N_COLUMNS] = {&reader->parents, &reader->codes, &reader->places};
    *reader = (struct nodes_reader){.n_left = get_varint32(&payload), .by_line = by_line};
    reader->id = get_varint32(&payload) - 1;
    for (int i = 0; i < N_COLUMNS; i++) {
        uint32_t n_bytes = get_u32(&payload);
        const uint8_t *at = get_bytes(&payload, n_bytes);
        if (at == NULL || n_bytes < reader->n_left) /* each value has a byte at least */
            return -1;
        *columns[i] = get_over(at, n_bytes);
    }
    return 0;
}

int nodes_next(struct nodes_reader *reader, struct rec_node *node)
{
    uint64_t place;
    reader->n_left--;
    reader->id++;
    reader->code += (uint32_t)unzigzag(get_varint(&reader->codes));
    *node = (struct rec_node){
        .id = reader->id,
        .parent = reader->id - (uint32_t)unzigzag(get_varint(&reader->parents)),
        .code = reader->code,
        .by_line = reader->by_line,
    };
    place = get_varint(&reader->places);
    if (node->by_line)
        node->line = (uint32_t)(place >> 1);
    else
        node->unit = (uint32_t)(place >> 1);
    node->entry = place & 1;
    return reader->parents.bad || reader->codes.bad || reader->places.bad || place >> 33 ? -1 : 0;
}
