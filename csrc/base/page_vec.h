/*
 * page_vec.h - growable arrays in pages of their own, for code that may run inside malloc.
 *
 *   PAGE_VEC(struct range) ranges = {0};
 *   struct range *added = page_vec_add(&ranges);   // NULL when there is no memory left
 */
#ifndef PROFTRACE_BASE_PAGE_VEC_H
#define PROFTRACE_BASE_PAGE_VEC_H

#include "base/arena.h" /* pages */

#include <string.h>

#define PAGE_VEC(type)           \
    struct {                     \
        type *items; /* owned */ \
        size_t n;                \
        size_t room;             \
    }

#define PAGE_VEC_UNIT 4096u /* bytes; where pages are larger, the kernel rounds up */

/* Makes room for `want` items; what is new is zero. `items_at` is the address of the pointer. */
NODISCARD static inline int page_vec_make_room(void *items_at, size_t *room, size_t want,
                                               size_t item_bytes)
{
    size_t more = *room + *room / 2;
    void *items;
    if (likely(want <= *room))
        return 0;
    if (more < want)
        more = want;
    if (more > SIZE_MAX / 2 / item_bytes)
        return -1;
    /* All of the pages that are needed anyway. */
    more = ((more * item_bytes + PAGE_VEC_UNIT - 1) & ~(size_t)(PAGE_VEC_UNIT - 1)) / item_bytes;
    memcpy(&items, items_at, sizeof items);
    items = pages_grow(items, *room * item_bytes, more * item_bytes);
    if (items == NULL)
        return -1;
    memcpy(items_at, &items, sizeof items);
    *room = more;
    return 0;
}

#define page_vec_reserve(vec, want) \
    page_vec_make_room(&(vec)->items, &(vec)->room, (want), sizeof *(vec)->items)

/* Adds a zeroed item (when nothing was ever removed) and returns its address, or NULL. */
#define page_vec_add(vec) \
    (page_vec_reserve((vec), (vec)->n + 1) == 0 ? &(vec)->items[(vec)->n++] : NULL)

#define page_vec_release(vec)                                         \
    do {                                                              \
        pages_free((vec)->items, (vec)->room * sizeof *(vec)->items); \
        (vec)->items = NULL;                                          \
        (vec)->n = (vec)->room = 0;                                   \
    } while (0)

#endif
