/* thread_names.c - see thread_names.h. */
#include "capture/thread_names.h"

#include "base/arena.h" /* pages */
#include "capture/thread.h"

#include <string.h>

struct known_thread {
    uint64_t tid;
    char name[THREAD_NAME_BYTES];
};

static struct known_thread *known; /* owned pages */
static size_t n_known;

void thread_names_keep(const struct capture_thread_name *threads, size_t n)
{
    thread_names_forget();
    if (n == 0)
        return;
    known = pages_alloc(n * sizeof *known);
    n_known = known == NULL ? 0 : n;
    for (size_t i = 0; i < n_known; i++) {
        known[i].tid = threads[i].tid;
        strncpy(known[i].name, threads[i].name, sizeof known[i].name - 1);
    }
}

void thread_names_forget(void)
{
    pages_free(known, n_known * sizeof *known);
    known = NULL;
    n_known = 0;
}

const char *thread_names_find(uint64_t tid)
{
    for (size_t i = 0; i < n_known; i++) {
        if (known[i].tid == tid)
            return known[i].name;
    }
    return NULL;
}
