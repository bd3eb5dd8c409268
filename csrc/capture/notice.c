/* notice.c - see notice.h. */
#include "capture/notice.h"

#include "base/compiler.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct stat stderr_at_start;
static bool stderr_known;

void notice_start(void)
{
    stderr_known = fstat(STDERR_FILENO, &stderr_at_start) == 0;
}

/* The program may have closed descriptor 2 and opened a file of its own there. */
static bool stderr_is_still_there(void)
{
    struct stat now;
    return stderr_known && fstat(STDERR_FILENO, &now) == 0 &&
           now.st_dev == stderr_at_start.st_dev && now.st_ino == stderr_at_start.st_ino;
}

static size_t append(char *line, size_t at, size_t room, const char *text)
{
    size_t n = strlen(text);
    if (n > room - at)
        n = room - at;
    memcpy(line + at, text, n);
    return at + n;
}

/* A name may hold anything: it is to stay on one line and to move no cursor. */
static size_t append_name(char *line, size_t at, size_t room, const char *name)
{
    static const char digits[] = "0123456789abcdef";
    for (; *name != '\0'; name++) {
        const unsigned char c = (unsigned char)*name;
        const char plain[2] = {*name, '\0'};
        const char escaped[5] = {'\\', 'x', digits[c >> 4], digits[c & 15], '\0'};
        const char *text = c == '\n' ? "\\n" : c < 0x20 || c == 0x7f ? escaped : plain;
        at = append(line, at, room, text);
    }
    return at;
}

void notice_write(const char *text, const char *path, const char *tail)
{
    char line[PATH_MAX + 256];
    int saved = errno;
    size_t n = 0;
    if (!stderr_is_still_there())
        return;
    n = append(line, n, sizeof line - 1, "memtrace: ");
    n = append(line, n, sizeof line - 1, text);
    n = append(line, n, sizeof line - 1, " ");
    n = append_name(line, n, sizeof line - 1, path);
    n = append(line, n, sizeof line - 1, tail);
    line[n++] = '\n';
    /* Nothing can be done about a stderr that does not take it. */
    if (write(STDERR_FILENO, line, n) < 0)
        errno = 0;
    errno = saved;
}

void notice_failure(const char *text, const char *path, int error, const char *tail)
{
    char reason[160] = ": ";
    strncat(reason, notice_error_text(error), 64);
    strncat(reason, tail, sizeof reason - 1 - strlen(reason));
    notice_write(text, path, reason);
}

const char *notice_error_text(int error)
{
    const char *text = ERRNO_TEXT(error);
    return text == NULL ? "unknown error" : text;
}
