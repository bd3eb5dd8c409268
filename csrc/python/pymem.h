/*
 * pymem.h - puts the capture library between Python and its allocators, and takes it out again. The
 * hooks pass everything through while recording is off, so nothing depends on their being out.
 */
#ifndef PROFTRACE_PYTHON_PYMEM_H
#define PROFTRACE_PYTHON_PYMEM_H

#include <stdbool.h>

/* The allocator of objects by the name that PYTHONMALLOC has for it; "" when it is not known. */
const char *pymem_allocator_name(void);

/*
 * Whether the C library's malloc does not see what Python allocates: then only the allocators'
 * own hooks do.
 */
bool pymem_is_apart(void);

/*
 * Installs the hook of arenas and, if asked, those of the three domains, where they are not in.
 * Where somebody has put an allocator in front of ours, that is left alone: ours is behind it.
 */
void pymem_install(bool domains);

/* Takes out what is not behind another one. */
void pymem_remove(void);

#endif
