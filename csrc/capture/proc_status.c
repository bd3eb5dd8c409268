/* proc_status.c - see proc_status.h. */
#include "capture/proc_status.h"

#include "base/raw_syscall.h"

#include <fcntl.h>

#define TEXT_BYTES 2048 /* the lines stand in the first kilobyte */

/* Whether the name stands at the start of a line; returns what is behind it. */
static const char *after(const char *line, const char *name)
{
    while (*name != '\0') {
        if (*line++ != *name++)
            return 0;
    }
    return line;
}

static uint64_t read_kib(const char *at)
{
    uint64_t value = 0;
    while (*at == ' ' || *at == '\t')
        at++;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    return value << 10;
}

static unsigned parse(const char *text, struct resident *resident)
{
    unsigned found = 0;
    for (const char *line = text; *line != '\0';) {
        const char *value;
        if ((value = after(line, "RssAnon:")) != 0) {
            resident->anonymous = read_kib(value);
            found |= 1;
        } else if ((value = after(line, "RssFile:")) != 0) {
            resident->file = read_kib(value);
            found |= 2;
        } else if ((value = after(line, "RssShmem:")) != 0) {
            resident->shared = read_kib(value);
            found |= 4;
        }
        while (*line != '\0' && *line != '\n')
            line++;
        if (*line == '\n')
            line++;
    }
    return found;
}

/* The start of a file as text; false if there is nothing. */
static bool read_text(const char *path, char text[TEXT_BYTES])
{
    long n, fd = raw_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    n = raw_syscall(SYS_read, fd, (long)text, TEXT_BYTES - 1, 0);
    raw_syscall(SYS_close, fd, 0, 0, 0);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

static const char *read_number(const char *at, uint64_t *value)
{
    *value = 0;
    while (*at == ' ')
        at++;
    for (; *at >= '0' && *at <= '9'; at++)
        *value = *value * 10 + (uint64_t)(*at - '0');
    return at;
}

/* In memory, and of that files and shared memory; both in bytes. */
static bool read_sums(const struct proc_status *status, uint64_t *all, uint64_t *not_anonymous)
{
    char text[TEXT_BYTES];
    uint64_t size;
    const char *at;
    if (status->page_bytes == 0 || !read_text("/proc/self/statm", text))
        return false;
    at = read_number(read_number(text, &size), all);
    (void)read_number(at, not_anonymous);
    *all *= status->page_bytes;
    *not_anonymous *= status->page_bytes;
    return *all >= *not_anonymous && *all != 0;
}

bool proc_status_read(struct proc_status *status, bool exactly, struct resident *resident)
{
    char text[TEXT_BYTES];
    uint64_t all, not_anonymous;
    if (!exactly && read_sums(status, &all, &not_anonymous) &&
        not_anonymous == status->known.file + status->known.shared) {
        *resident = status->known;
        resident->anonymous = all - not_anonymous;
        return true;
    }
    if (!read_text("/proc/self/status", text) || parse(text, resident) != 7)
        return false;
    status->known = *resident;
    return true;
}
