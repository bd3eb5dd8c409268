/* table_parts.h - how a table record is opened, closed and read; for the files of format/ only. */
#ifndef PROFTRACE_FORMAT_TABLE_PARTS_H
#define PROFTRACE_FORMAT_TABLE_PARTS_H

#include "base/bytes.h"
#include "format/record.h"

/* Writes the head with the length left open; record_close fills it in. */
static inline uint8_t *record_open(struct put *to, enum table_tag tag)
{
    uint8_t *head = to->p;
    put_u8(to, (uint8_t)tag);
    put_u32(to, 0);
    return head;
}

static inline void record_close(struct put *to, uint8_t *head)
{
    struct put length;
    if (to->bad)
        return;
    length = put_over(head + 1, 4);
    put_u32(&length, (uint32_t)(to->p - head - TABLE_RECORD_HEAD_BYTES));
}

static inline uint32_t get_varint32(struct get *from)
{
    uint64_t value = get_varint(from);
    if (value > UINT32_MAX) {
        from->bad = true;
        return 0;
    }
    return (uint32_t)value;
}

#endif
