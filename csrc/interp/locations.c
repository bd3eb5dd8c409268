/* locations.c - see locations.h. */
#include "interp/locations.h"

#include "base/location_entry.h"

/* Six bits a byte, least significant first, bit 6 says "more". */
static void put_number(struct put *to, uint32_t value)
{
    while (value >= 0x40) {
        put_u8(to, (uint8_t)(value & 0x3f) | 0x40);
        value >>= 6;
    }
    put_u8(to, (uint8_t)value);
}

/* The sign is the lowest bit. */
static uint32_t signed_number(int64_t value)
{
    return value < 0 ? (uint32_t)-value << 1 | 1 : (uint32_t)value << 1;
}

/* As many entries as its units need; only the first goes to another line. */
static void put_run(struct put *to, const struct location_entry *run)
{
    int64_t step = run->line_step;
    for (uint32_t left = run->n_units; left > 0;) {
        uint32_t n = left < LOCATION_MAX_UNITS ? left : LOCATION_MAX_UNITS;
        unsigned kind = run->has_line ? LOCATION_NO_COLUMNS : LOCATION_NO_LINE;
        put_u8(to, (uint8_t)(0x80 | kind << 3 | (n - 1)));
        if (run->has_line)
            put_number(to, signed_number(step));
        step = 0;
        left -= n;
    }
}

size_t locations_strip(const uint8_t *table, size_t n_bytes, uint8_t *out)
{
    struct get from = get_over(table, n_bytes);
    struct put to = put_over(out, n_bytes);
    struct location_entry run = {0}; /* units that stand on one line, of as many entries */
    struct location_entry entry;
    while (get_left(&from) != 0) {
        location_entry_get(&from, &entry);
        if (from.bad)
            break;
        if (run.n_units != 0 && entry.has_line == run.has_line && entry.line_step == 0) {
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
