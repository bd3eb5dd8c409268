/*
 * locations.h - co_linetable without its columns: reports show lines only, and the columns are most
 * of a capture's dictionary, in bytes that hardly repeat.
 */
#ifndef PROFTRACE_INTERP_LOCATIONS_H
#define PROFTRACE_INTERP_LOCATIONS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Writes a table of the same format that gives each unit the same line, in entries without columns;
 * units of one line that follow each other share entries. `out` has room for n_bytes, which is
 * always enough. Returns the bytes written; a malformed table is copied as it is.
 */
size_t locations_strip(const uint8_t *table, size_t n_bytes, uint8_t *out);

#endif
