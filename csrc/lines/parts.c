/* parts.c - see parts.h. */
#include "lines/parts.h"

#include <dirent.h> /* DT_* */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <sys/file.h> /* flock */
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_BYTES 256
#define COPY_BYTES 8192
#define TAKEN ".taken"
#define TEMPORARY ".tmp"
/* Children that write while the folder is being removed make it fail; each does so once. */
#define MOST_SWEEPS 50

/* What getdents64 fills in; the C library's readdir allocates. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t n_bytes;
    uint8_t type;
    char name[];
};

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && strcmp(name + n - n_end, end) == 0;
}

typedef bool (*wanted_fn)(const char *name);

static bool is_part(const char *name)
{
    return name[0] != '.' && !ends_with(name, TAKEN) && !ends_with(name, TEMPORARY);
}

static bool is_taken_or_temporary(const char *name)
{
    return ends_with(name, TAKEN) || ends_with(name, TEMPORARY);
}

static void keep_smallest(const char *buffer, long n_bytes, wanted_fn is_wanted, const char *after,
                          char *smallest)
{
    for (long at = 0; at < n_bytes;) {
        const struct entry *entry = (const struct entry *)(buffer + at);
        at += entry->n_bytes;
        if (strlen(entry->name) < NAME_BYTES && is_wanted(entry->name) &&
            strcmp(entry->name, after) > 0 &&
            (smallest[0] == '\0' || strcmp(entry->name, smallest) < 0))
            strcpy(smallest, entry->name);
    }
}

/* Replaces `name` by the next one in order; false at the end. One look at the folder each. */
static bool next_name(int folder, wanted_fn is_wanted, char name[NAME_BYTES])
{
    _Alignas(8) char buffer[4096];
    char smallest[NAME_BYTES] = "";
    long n_bytes;
    if (lseek(folder, 0, SEEK_SET) < 0)
        return false;
    while ((n_bytes = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
        keep_smallest(buffer, n_bytes, is_wanted, name, smallest);
    strcpy(name, smallest);
    return smallest[0] != '\0';
}

static int copy_all(int from, int to)
{
    char bytes[COPY_BYTES];
    ssize_t n_read;
    while ((n_read = read(from, bytes, sizeof bytes)) != 0) {
        if (n_read < 0 && errno != EINTR)
            return errno;
        for (ssize_t done = 0; done < n_read;) {
            ssize_t n = write(to, bytes + done, (size_t)(n_read - done));
            if (n < 0 && errno != EINTR)
                return errno;
            done += n < 0 ? 0 : n;
        }
    }
    return 0;
}

static int copy_part(int folder, const char *name, int to)
{
    int part = openat(folder, name, O_RDONLY | O_CLOEXEC);
    int error;
    if (part < 0)
        return errno == ENOENT ? 0 : errno; /* replaced or taken meanwhile */
    error = copy_all(part, to);
    close(part);
    return error;
}

static int take_part(int folder, const char *name, int to)
{
    char taken[NAME_BYTES + sizeof TAKEN];
    strcpy(taken, name);
    strcat(taken, TAKEN);
    if (renameat(folder, name, folder, taken) < 0)
        return errno == ENOENT ? 0 : errno;
    return copy_part(folder, taken, to);
}

static int each_part(const char *path, int to, uint32_t *n_parts,
                     int (*visit)(int folder, const char *name, int to))
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[NAME_BYTES] = "";
    int error = 0;
    if (folder < 0)
        return errno == ENOENT ? 0 : errno;
    while (error == 0 && next_name(folder, is_part, name)) {
        error = visit(folder, name, to);
        ++*n_parts;
    }
    close(folder);
    return error;
}

int parts_copy(const char *folder, int to, uint32_t *n_parts)
{
    return each_part(folder, to, n_parts, copy_part);
}

int parts_take(const char *folder, int to, uint32_t *n_parts)
{
    return each_part(folder, to, n_parts, take_part);
}

static void remove_taken(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[NAME_BYTES] = "";
    while (folder >= 0 && next_name(folder, is_taken_or_temporary, name))
        unlinkat(folder, name, 0);
    if (folder >= 0)
        close(folder);
}

static int append_open(const char *path)
{
    int to = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    while (to >= 0 && flock(to, LOCK_EX) < 0 && errno == EINTR)
        ;
    return to;
}

void parts_drop(const char *folder, const char *path)
{
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        uint32_t n_late = 0;
        int to;
        remove_taken(folder);
        if (rmdir(folder) == 0 || errno != ENOTEMPTY)
            return;
        to = path == NULL ? -1 : append_open(path);
        if (to < 0)
            return;
        if (parts_take(folder, to, &n_late) != 0)
            sweep = MOST_SWEEPS;
        close(to);
    }
}

int parts_move(const char *from, const char *to)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = source < 0 ? -1 : append_open(to);
    int error = target < 0 ? errno : copy_all(source, target);
    if (target >= 0)
        close(target);
    if (source >= 0)
        close(source);
    unlink(from);
    return error;
}
