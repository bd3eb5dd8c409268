/* maps.c - see maps.h. */
#include "capture/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h> /* strtoull */
#include <string.h>
#include <unistd.h>

/* What the kernel calls anonymous memory that is shared: it has an inode, but no file. */
#define SHARED_MEMORY "/dev/zero (deleted)"

/* "start-end perms offset dev inode path": 1 the address is in it and anonymous, 0 a file, -1 no.
 */
static int judge_line(char *line, uintptr_t at)
{
    char *p = line;
    uintptr_t start = strtoull(p, &p, 16);
    uintptr_t end = *p == '-' ? strtoull(p + 1, &p, 16) : 0;
    if (at < start || at >= end)
        return -1;
    for (int i = 0; i < 4; i++) { /* behind perms, offset and dev */
        p = strchr(p, ' ');
        if (p == NULL)
            return -1;
        p++;
    }
    if (strtoull(p, &p, 10) == 0)
        return 1;
    return strcmp(p + strspn(p, " "), SHARED_MEMORY) == 0;
}

/* Takes the whole lines out of the buffer; the rest moves to its start. */
static int judge_lines(char *text, size_t *n_bytes, uintptr_t at)
{
    char *line = text;
    char *end;
    int verdict = -1;
    while (verdict < 0 && (end = memchr(line, '\n', *n_bytes - (size_t)(line - text))) != NULL) {
        *end = '\0';
        verdict = judge_line(line, at);
        line = end + 1;
    }
    *n_bytes -= (size_t)(line - text);
    memmove(text, line, *n_bytes);
    return verdict;
}

bool maps_is_anonymous(const void *at)
{
    char text[8192];
    size_t n_bytes = 0;
    ssize_t n;
    int saved = errno;
    int verdict = -1;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && verdict < 0 && n_bytes < sizeof text &&
           (n = read(fd, text + n_bytes, sizeof text - n_bytes)) > 0) {
        n_bytes += (size_t)n;
        verdict = judge_lines(text, &n_bytes, (uintptr_t)at);
    }
    if (fd >= 0)
        close(fd);
    errno = saved;
    return verdict != 0;
}
