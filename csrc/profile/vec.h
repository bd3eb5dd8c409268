/*
 * vec.h - growable arrays of the reading side.
 *
 *   VEC(struct range) ranges = {0};
 *   struct range *added = vec_add(&ranges);   // NULL when there is no memory left
 */
#ifndef PROFTRACE_PROFILE_VEC_H
#define PROFTRACE_PROFILE_VEC_H

#include "base/compiler.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                \
    struct {                     \
        type *items; /* owned */ \
        size_t n;                \
        size_t room;             \
    }

/* Makes room for `want` items; what is new is zero. `items_at` is the address of the pointer. */
NODISCARD static inline int vec_make_room(void *items_at, size_t *room, size_t want,
                                          size_t item_bytes)
{
    size_t more = *room < 8 ? 16 : *room + *room / 2;
    uint8_t *items;
    if (likely(want <= *room))
        return 0;
    if (more < want)
        more = want;
    if (more > SIZE_MAX / 2 / item_bytes)
        return -1;
    memcpy(&items, items_at, sizeof items);
    items = realloc(items, more * item_bytes);
    if (items == NULL)
        return -1;
    memset(items + *room * item_bytes, 0, (more - *room) * item_bytes);
    memcpy(items_at, &items, sizeof items);
    *room = more;
    return 0;
}

#define vec_reserve(vec, want) \
    vec_make_room(&(vec)->items, &(vec)->room, (want), sizeof *(vec)->items)

/* Adds a zeroed item (when nothing was ever removed) and returns its address, or NULL. */
#define vec_add(vec) (vec_reserve((vec), (vec)->n + 1) == 0 ? &(vec)->items[(vec)->n++] : NULL)

#define vec_release(vec)            \
    do {                            \
        free((vec)->items);         \
        (vec)->items = NULL;        \
        (vec)->n = (vec)->room = 0; \
    } while (0)

#endif
