/* locations.c - see locations.h. The format is described in CPython's InternalDocs. */
#include "interp/locations.h"

#include "base/bytes.h"

#define MOST_UNITS 8u /* of an entry */

enum entry_kind {
    ENTRY_LAST_SHORT = 9, /* 0-9: same line, one byte of columns */
    ENTRY_ONE_LINE = 10,  /* 10-12: line + 0, 1, 2, two bytes of columns */
    ENTRY_NO_COLUMNS = 13,
    ENTRY_LONG = 14,
    ENTRY_NO_LINE = 15,
};

/* Units that stand on one line. */
struct run {
    uint32_t n_units;
    uint32_t step; /* to its line, in the coding of the table; 0 = the same */
    bool has_line;
};

/* Six bits a byte, least significant first, bit 6 says "more". */
static uint32_t get_number(struct get *from)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 30; shift += 6) {
        uint8_t byte = get_u8(from);
        value |= (uint32_t)(byte & 0x3f) << shift;
        if (!(byte & 0x40))
            return value;
    }
    from->bad = true;
    return 0;
}

static void put_number(struct put *to, uint32_t value)
{
    while (value >= 0x40) {
        put_u8(to, (uint8_t)(value & 0x3f) | 0x40);
        value >>= 6;
    }
    put_u8(to, (uint8_t)value);
}

static void get_entry(struct get *from, struct run *entry)
{
    uint8_t head = get_u8(from);
    unsigned kind = head >> 3 & 15;
    *entry = (struct run){.n_units = (head & 7u) + 1, .has_line = kind != ENTRY_NO_LINE};
    if (!(head & 0x80))
        from->bad = true;
    if (kind == ENTRY_NO_LINE)
        return;
    if (kind == ENTRY_LONG || kind == ENTRY_NO_COLUMNS) {
        entry->step = get_number(from);
        for (int i = 0; kind == ENTRY_LONG && i < 3; i++) /* end line, column, end column */
            (void)get_number(from);
    } else if (kind >= ENTRY_ONE_LINE) {
        entry->step = (kind - ENTRY_ONE_LINE) * 2; /* the sign is the lowest bit */
        (void)get_bytes(from, 2);
    } else {
        (void)get_u8(from);
    }
}

/* As many entries as its units need; only the first goes to another line. */
static void put_run(struct put *to, const struct run *run)
{
    uint32_t step = run->step;
    for (uint32_t left = run->n_units; left > 0;) {
        uint32_t n = left < MOST_UNITS ? left : MOST_UNITS;
        unsigned kind = run->has_line ? ENTRY_NO_COLUMNS : ENTRY_NO_LINE;
        put_u8(to, (uint8_t)(0x80 | kind << 3 | (n - 1)));
        if (run->has_line)
            put_number(to, step);
        step = 0;
        left -= n;
    }
}

size_t locations_strip(const uint8_t *table, size_t n_bytes, uint8_t *out)
{
    struct get from = get_over(table, n_bytes);
    struct put to = put_over(out, n_bytes);
    struct run run = {0}, entry;
    while (get_left(&from) != 0) {
        get_entry(&from, &entry);
        if (from.bad)
            break;
        /* A step of 1 is coded as "minus 0". */
        if (run.n_units != 0 && entry.has_line == run.has_line && entry.step <= 1) {
            run.n_units += entry.n_units;
            continue;
        }
        put_run(&to, &run);
        run = entry;
    }
    put_run(&to, &run);
    if (from.bad || to.bad) {
        memcpy(out, table, n_bytes);
        return n_bytes;
    }
    return (size_t)(to.p - out);
}
