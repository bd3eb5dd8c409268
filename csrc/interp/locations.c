/* locations.c - see locations.h. */
#include "interp/locations.h"

#include "base/location_entry.h"

bool locations_find(struct location_search *search, const uint8_t *table, size_t n_bytes,
                    uint32_t unit, int64_t *line)
{
    struct get from;
    struct location_entry entry;
    if (search->table != table || search->unit > unit || search->at > n_bytes)
        *search = (struct location_search){.table = table};
    from = get_over(table + search->at, n_bytes - search->at);
    while (get_left(&from) != 0) {
        location_entry_get(&from, &entry);
        if (from.bad)
            return false;
        if (unit - search->unit < entry.n_units) {
            *line = search->line + entry.line_step;
            return entry.has_line;
        }
        search->line += entry.line_step;
        search->unit += entry.n_units;
        search->at = (size_t)(from.p - table);
    }
    return false;
}
