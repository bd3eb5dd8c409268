/* maps.c - see maps.h. */
#include "capture/maps.h"

#include "base/arena.h" /* pages */

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

/* ---- all of them -------------------------------------------------------------------------- */

#define FIRST_ROOM (64u << 10)

/* False: there is no memory left. */
static bool make_room(struct maps_text *maps)
{
    const size_t room = maps->room == 0 ? FIRST_ROOM : maps->room * 2;
    char *bigger;
    if (maps->n_bytes + 1 < maps->room)
        return true;
    bigger = pages_grow(maps->text, maps->room, room);
    if (bigger == NULL)
        return false;
    maps->text = bigger;
    maps->room = room;
    return true;
}

static void read_all(struct maps_text *maps)
{
    int saved = errno;
    ssize_t n;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    maps->is_read = true;
    while (fd >= 0 && make_room(maps) &&
           (n = read(fd, maps->text + maps->n_bytes, maps->room - maps->n_bytes - 1)) > 0)
        maps->n_bytes += (size_t)n;
    if (fd >= 0)
        close(fd);
    if (maps->text != NULL)
        maps->text[maps->n_bytes] = '\0';
    errno = saved;
}

bool maps_is_writable(struct maps_text *maps, uintptr_t at)
{
    char *line;
    if (!maps->is_read)
        read_all(maps);
    line = maps->text;
    while (line != NULL && *line != '\0') {
        char *p = line;
        uintptr_t start = strtoull(p, &p, 16);
        uintptr_t end = *p == '-' ? strtoull(p + 1, &p, 16) : 0;
        if (at >= start && at < end)
            return p[0] == ' ' && p[2] == 'w';
        line = strchr(p, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return true; /* not known: hands off */
}

void maps_forget(struct maps_text *maps)
{
    pages_free(maps->text, maps->room);
    *maps = (struct maps_text){0};
}
