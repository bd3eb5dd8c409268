/* maps.h - what the kernel says about an address. */
#ifndef PROFTRACE_CAPTURE_MAPS_H
#define PROFTRACE_CAPTURE_MAPS_H

#include <stdbool.h>

/*
 * True unless a file stands behind the mapping at this address. Reads /proc/self/maps: for rare
 * questions only. Keeps errno.
 */
bool maps_is_anonymous(const void *at);

#endif
