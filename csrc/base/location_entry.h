/*
 * location_entry.h - one entry of CPython's co_linetable (3.11 and newer), as read by both sides.
 *
 * The table is a run of entries, each for 1 to 8 code units: a byte 1|kind:4|units-1:3 and then, by
 * kind, line difference and columns as 6-bit varints. Columns are skipped here.
 */
#ifndef PROFTRACE_BASE_LOCATION_ENTRY_H
#define PROFTRACE_BASE_LOCATION_ENTRY_H

#include "base/bytes.h"

enum location_kind {
    LOCATION_LAST_SHORT = 9, /* 0-9: same line, one byte of columns */
    LOCATION_ONE_LINE = 10,  /* 10-12: line + 0, 1, 2, two bytes of columns */
    LOCATION_NO_COLUMNS = 13,
    LOCATION_LONG = 14,
    LOCATION_NO_LINE = 15,
};

#define LOCATION_MAX_UNITS 8u

struct location_entry {
    uint32_t n_units;
    int64_t line_step; /* from the line of the entry before that has one */
    bool has_line;
};

/* Takes the next entry; what is malformed latches `from->bad`, and the entry means nothing then. */
void location_entry_get(struct get *from, struct location_entry *entry);

#endif
