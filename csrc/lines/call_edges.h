/* call_edges.h - a thread's calls by calling line; read by totals.c while they are added to. */
#ifndef PROFTRACE_LINES_CALL_EDGES_H
#define PROFTRACE_LINES_CALL_EDGES_H

#include "lines/account.h"

/*
 * Returns the edge from a line of a table (NULL: none, and the thread's `nowhere`) to a code
 * object, made if need be; NULL when memory is out. Called by the thread itself.
 */
NODISCARD struct call_edge *call_edges_find(struct lines_thread *thread,
                                            const struct code_table *table,
                                            const struct line_cell *caller,
                                            const struct code_table *callee);

#endif
