/*
 * parts.h - the results of the processes that were followed: files in a folder beside the result.
 *
 * Each child keeps its own file there. The first process puts them into the result when it ends,
 * one log behind the other, and removes the folder; a child that ends later than that adds itself.
 * Files change by rename only, so whatever is there is whole. Like result.h it needs system calls
 * only.
 */
#ifndef PROFTRACE_LINES_PARTS_H
#define PROFTRACE_LINES_PARTS_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends all parts to an open file. Returns 0 or an errno value; `n_parts` counts them. */
NODISCARD int parts_copy(const char *folder, int to, uint32_t *n_parts);

/* The same, and takes them: they are gone once parts_drop is called. */
NODISCARD int parts_take(const char *folder, int to, uint32_t *n_parts);

/*
 * The result is in its place: removes what was taken and the folder. What came in between is
 * appended to the file at `path`, unless that is NULL.
 */
void parts_drop(const char *folder, const char *path);

/* Appends a whole file to another one, and removes it. Returns 0 or an errno value. */
NODISCARD int parts_move(const char *from, const char *to);

#endif
