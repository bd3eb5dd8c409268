/*
 * objects.h - which code lies where in this process, and where its call frame information is.
 *
 * Read from /proc/self/maps and from the headers of what is mapped, without the dynamic linker:
 * its list has a lock.
 */
#ifndef PROFTRACE_INTERP_OBJECTS_H
#define PROFTRACE_INTERP_OBJECTS_H

#include "base/peek.h"

/* An executable mapping of an object that has an index of its call frame information. */
struct object_code {
    uintptr_t start, end;
    uintptr_t index; /* address of its .eh_frame_hdr */
};

/* Immutable once published; an older one stays where it is for those who still read it. */
struct object_list {
    uint32_t generation; /* counts up from 1 */
    uint32_t n;
    struct object_code codes[]; /* ascending */
};

/* Reads them anew and publishes the list. One caller at a time. -1: not to be had. */
NODISCARD int objects_read(void);

/* The newest list, NULL before the first; may be called anywhere. */
const struct object_list *objects_list(void);

/* The code that an address belongs to, NULL if none of the list does. */
const struct object_code *objects_find(const struct object_list *list, uintptr_t at);

#endif
