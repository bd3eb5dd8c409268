/* location_entry.c - see location_entry.h. The format is described in CPython's InternalDocs. */
#include "base/location_entry.h"

/* Six bits a byte, least significant first, bit 6 says "more". */
static uint32_t get_number(struct get *from)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 6) {
        uint8_t byte = get_u8(from);
        value |= (uint32_t)(byte & 0x3f) << shift;
        if (!(byte & 0x40))
            return value;
    }
    from->bad = true;
    return 0;
}

/* The sign is the lowest bit. */
static int64_t get_signed(struct get *from)
{
    uint32_t value = get_number(from);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Takes what follows the first byte; returns the difference to the line before. */
static int64_t get_line_step(struct get *from, unsigned kind)
{
    int64_t step;
    if (kind <= LOCATION_LAST_SHORT) {
        (void)get_u8(from);
        return 0;
    }
    switch (kind) {
    case LOCATION_NO_LINE:
        return 0;
    case LOCATION_NO_COLUMNS:
        return get_signed(from);
    case LOCATION_LONG:
        step = get_signed(from);
        for (int skipped = 0; skipped < 3; skipped++) /* end line, column, end column */
            (void)get_number(from);
        return step;
    default:
        (void)get_bytes(from, 2);
        return (int64_t)kind - LOCATION_ONE_LINE;
    }
}

void location_entry_get(struct get *from, struct location_entry *entry)
{
    uint8_t head = get_u8(from);
    unsigned kind = head >> 3 & 0xf;
    entry->n_units = (head & 7u) + 1;
    entry->has_line = kind != LOCATION_NO_LINE;
    entry->line_step = get_line_step(from, kind);
    if (!(head & 0x80))
        from->bad = true;
}
