/* linetable.c - see linetable.h. */
#include "profile/linetable.h"

#include "base/location_entry.h"

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

int line_runs_decode(struct line_runs *runs, const uint8_t *table, size_t n_bytes,
                     uint32_t first_line)
{
    struct get from = get_over(table, n_bytes);
    int64_t line = first_line;
    uint32_t unit = 0;
    while (get_left(&from) != 0) {
        struct location_entry entry;
        location_entry_get(&from, &entry);
        line += entry.line_step;
        if (from.bad || line < 0 || line > UINT32_MAX)
            break;
        if (add_run(runs, unit, entry.has_line ? (uint32_t)line : 0) != 0)
            return -1;
        unit += entry.n_units;
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
