/* maps.h - what the kernel says about an address. */
#ifndef PROFTRACE_CAPTURE_MAPS_H
#define PROFTRACE_CAPTURE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * True unless a file stands behind the mapping at this address. Reads /proc/self/maps: for rare
 * questions only. Keeps errno.
 */
bool maps_is_anonymous(const void *at);

/* All of /proc/self/maps, once read. Zero at first. */
struct maps_text {
    char *text; /* owned pages */
    size_t n_bytes, room;
    bool is_read;
};

/* Whether the page at this address can be written to, as of the first such question. */
bool maps_is_writable(struct maps_text *maps, uintptr_t at);
void maps_forget(struct maps_text *maps);

#endif
