/* heap_account.c - see heap_account.h. */
#include "capture/heap_account.h"

#include "capture/real.h"

#include <dlfcn.h>
#include <malloc.h>

/* struct mallinfo2 is newer than some C libraries that we are built with. */
struct malloc_info {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

typedef struct malloc_info (*malloc_info_fn)(void);
typedef int (*mallctl_fn)(const char *name, void *old, size_t *old_bytes, void *new_value,
                          size_t new_bytes);

static struct {
    bool known;
    malloc_info_fn info;
    mallctl_fn control;
} found;

/* A function by this name in the object that serves malloc; others are of an unused allocator. */
static void *beside_malloc(const char *name)
{
    Dl_info malloc_is, function_is;
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL || dladdr(function, &function_is) == 0 ||
        dladdr((void *)(uintptr_t)real.malloc, &malloc_is) == 0)
        return NULL;
    return function_is.dli_fbase == malloc_is.dli_fbase ? function : NULL;
}

static bool read_statistic(const char *name, uint64_t *value)
{
    size_t number = 0, n_bytes = sizeof number;
    if (found.control(name, &number, &n_bytes, NULL, 0) != 0)
        return false;
    *value = number;
    return true;
}

static bool ask_jemalloc(struct heap_account *account)
{
    uint64_t epoch = 1, allocated, resident;
    size_t n_bytes = sizeof epoch;
    if (found.control("epoch", &epoch, &n_bytes, &epoch, sizeof epoch) != 0 ||
        !read_statistic("stats.allocated", &allocated) ||
        !read_statistic("stats.resident", &resident))
        return false;
    account->taken_bytes = resident;
    account->free_bytes = resident > allocated ? resident - allocated : 0;
    return true;
}

void heap_account_find(void)
{
    if (found.known)
        return;
    found.info = (malloc_info_fn)(uintptr_t)beside_malloc("mallinfo2");
    found.control = (mallctl_fn)(uintptr_t)beside_malloc("mallctl");
    found.known = true;
    /* What was not found is no error of the program's; the second call gives the text's memory
     * back. */
    (void)dlerror();
    (void)dlerror();
}

bool heap_account_read(struct heap_account *account)
{
    struct malloc_info info;
    if (found.info == NULL)
        return found.control != NULL && ask_jemalloc(account);
    info = found.info();
    account->taken_bytes = info.arena + info.hblkhd;
    account->free_bytes = info.fordblks;
    return true;
}
