/* linetable.c - see linetable.h. */
#include "profile/linetable.h"

#include "base/bytes.h"

enum entry_kind {
    ENTRY_LAST_SHORT = 9, /* 0-9: same line, one byte of columns */
    ENTRY_ONE_LINE = 10,  /* 10-12: line + 0, 1, 2, two bytes of columns */
    ENTRY_NO_COLUMNS = 13,
    ENTRY_LONG = 14,
    ENTRY_NO_LINE = 15,
};

/* Six bits a byte, least significant first, bit 6 says "more". */
static uint32_t get_varint6(struct get *from)
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
static int64_t get_svarint6(struct get *from)
{
    uint32_t value = get_varint6(from);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int add_run(struct line_runs *runs, uint32_t first_unit, uint32_t line)
{
    struct line_run *run;
    if (runs->n != 0 && runs->items[runs->n - 1].line == line)
        return 0;
    run = vec_add(runs);
    if (run == NULL)
        return -1;
    *run = (struct line_run){first_unit, line};
    return 0;
}

/* Takes what follows an entry's first byte; returns the difference to the line before. */
static int64_t get_line_difference(struct get *from, unsigned kind)
{
    int64_t difference;
    if (kind <= ENTRY_LAST_SHORT) {
        (void)get_u8(from);
        return 0;
    }
    switch (kind) {
    case ENTRY_NO_LINE:
        return 0;
    case ENTRY_NO_COLUMNS:
        return get_svarint6(from);
    case ENTRY_LONG:
        difference = get_svarint6(from);
        for (int skipped = 0; skipped < 3; skipped++) /* end line, column, end column */
            (void)get_varint6(from);
        return difference;
    default:
        (void)get_bytes(from, 2);
        return (int64_t)kind - ENTRY_ONE_LINE;
    }
}

int line_runs_decode(struct line_runs *runs, const uint8_t *table, size_t n_bytes,
                     uint32_t first_line)
{
    struct get from = get_over(table, n_bytes);
    int64_t line = first_line;
    uint32_t unit = 0;
    while (get_left(&from) != 0) {
        uint8_t head = get_u8(&from);
        unsigned kind = head >> 3 & 0xf;
        line += get_line_difference(&from, kind);
        if (from.bad || !(head & 0x80) || line < 0 || line > UINT32_MAX)
            break;
        if (add_run(runs, unit, kind == ENTRY_NO_LINE ? 0 : (uint32_t)line) != 0)
            return -1;
        unit += (head & 7u) + 1;
    }
    return add_run(runs, unit, 0);
}

void line_runs_release(struct line_runs *runs)
{
    vec_release(runs);
}

uint32_t line_runs_find(const struct line_runs *runs, uint32_t unit)
{
    size_t low = 0, high = runs->n; /* the run is the last one that starts at or before unit */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (runs->items[middle].first_unit <= unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? 0 : runs->items[low - 1].line;
}
