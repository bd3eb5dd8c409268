/*
 * pymalloc.h - what CPython's allocator of small objects has taken and what objects use of it, read
 * from its own tables as data.
 *
 * The tables are found by their shape: the heads of the lists of pools that are in use lie in one
 * array, and an empty list's head points to a fixed place before itself. Only to be called while
 * the calling thread holds the GIL.
 */
#ifndef PROFTRACE_INTERP_PYMALLOC_H
#define PROFTRACE_INTERP_PYMALLOC_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct pymalloc_view {
    uint64_t arenas;
    uint64_t touched_bytes; /* of the arenas, that objects were ever put into */
    uint64_t used_bytes;    /* of live objects, each rounded up to its size class */
};

/* Where the tables of an interpreter are. */
struct pymalloc_place {
    uintptr_t interp;   /* the interpreter's state */
    uintptr_t tables;   /* 0: they were not found */
    uintptr_t noted_at; /* the word that leads to them; 0: they are a part of the state */
};

/* Searches in an interpreter's state, which takes a moment. */
struct pymalloc_place pymalloc_find(uintptr_t interp);

/* Whether what was found is still this interpreter's: else it has to be searched for again. */
NODISCARD bool pymalloc_is_there(const struct pymalloc_place *place, uintptr_t interp);

/* False: the tables are not what they were taken for. */
NODISCARD bool pymalloc_read(uintptr_t tables, uint64_t arena_bytes, struct pymalloc_view *view);

#endif
