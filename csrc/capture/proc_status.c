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

bool proc_status_read(struct resident *resident)
{
    char text[TEXT_BYTES];
    long n,
        fd = raw_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    n = raw_syscall(SYS_read, fd, (long)text, sizeof text - 1, 0);
    raw_syscall(SYS_close, fd, 0, 0, 0);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return parse(text, resident) == 7;
}
