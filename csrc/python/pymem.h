/*
 * pymem.h - puts the capture library between Python and its allocators. Nothing is ever taken out
 * again: the hooks pass everything through while recording is off.
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

/* Installs the hook of arenas and, if asked, those of the three domains; each of them once. */
void pymem_install(bool domains);

#endif
