/* hooks_native.c - what changes the code that a process consists of; see native.h. */
#include "capture/native.h"
#include "capture/real.h"

#include <stddef.h>

EXPORT int dlclose(void *handle);

/*
 * What is loaded next at the same addresses is other code. (dlopen needs no hook, since what is new
 * has an address that nobody knows; and must have none, since it looks at who calls it.)
 */
EXPORT int dlclose(void *handle)
{
    int failed;
    if (real.dlclose == NULL && !(real_resolve() && real.dlclose != NULL))
        return -1;
    native_unloads();
    failed = real.dlclose(handle);
    native_unloaded();
    return failed;
}
