/* peek.c - see peek.h. */
#include "base/peek.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool copying_is_forbidden;

/*
 * The kernel reads the signal set before it finds that there is no such way to change the mask, so
 * the error tells whether eight bytes are there.
 */
static bool is_readable(uintptr_t at)
{
    return syscall(SYS_rt_sigprocmask, ~0, at, NULL, 8) < 0 && errno == EINVAL;
}

__attribute__((no_sanitize("address"))) static void copy_directly(uint8_t *to,
                                                                  const volatile uint8_t *from)
{
    for (size_t i = 0; i < PEEK_PAGE_BYTES; i += sizeof(uint64_t))
        *(uint64_t *)(to + i) = *(const volatile uint64_t *)(from + i);
}

/* Copies a page; false when it is not there. */
static bool copy_page(uint8_t *to, uintptr_t start)
{
    struct iovec here = {to, PEEK_PAGE_BYTES};
    struct iovec there = {(void *)start, PEEK_PAGE_BYTES};
    if (likely(!__atomic_load_n(&copying_is_forbidden, __ATOMIC_RELAXED))) {
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)PEEK_PAGE_BYTES)
            return true;
        if (errno != EPERM && errno != ENOSYS)
            return false;
        __atomic_store_n(&copying_is_forbidden, true, __ATOMIC_RELAXED);
    }
    if (!is_readable(start))
        return false;
    copy_directly(to, (const volatile uint8_t *)start);
    return true;
}

void peek_forget(struct peek *peek)
{
    memset(peek->starts, 0, sizeof peek->starts);
}

/* Returns the page that starts here, NULL when it cannot be read. */
static const uint8_t *fetch(struct peek *peek, uintptr_t start)
{
    uint32_t place;
    int saved_errno = errno;
    if (start == 0)
        return NULL; /* nothing is ever there, and it marks a free place */
    for (uint32_t i = 0; i < PEEK_PAGES; i++)
        if (peek->starts[i] == start)
            return peek->pages[i];
    place = peek->next;
    peek->starts[place] = 0;
    if (!copy_page(peek->pages[place], start)) {
        errno = saved_errno;
        return NULL;
    }
    peek->starts[place] = start;
    peek->next = (place + 1) % PEEK_PAGES;
    return peek->pages[place];
}

bool peek_bytes(struct peek *peek, uintptr_t at, void *to, size_t n_bytes)
{
    uint8_t *out = to;
    while (n_bytes != 0) {
        uintptr_t start = at & ~(uintptr_t)(PEEK_PAGE_BYTES - 1);
        size_t offset = at - start;
        size_t n = PEEK_PAGE_BYTES - offset < n_bytes ? PEEK_PAGE_BYTES - offset : n_bytes;
        const uint8_t *page = fetch(peek, start);
        if (page == NULL)
            return false;
        memcpy(out, page + offset, n);
        out += n;
        at += n;
        n_bytes -= n;
    }
    return true;
}
