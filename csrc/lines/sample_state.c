/* sample_state.c - see sample_state.h. */
#include "lines/sample_state.h"

#include <fcntl.h>
#include <stdio.h> /* snprintf */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_BYTES 4096u /* processors and nodes of large machines take a line each */

/* Reads the start of a file of /proc, with a NUL behind. False when there is none. */
static bool read_file(pid_t tid, const char *name, char *text, size_t room)
{
    char path[64];
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, room - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    return true;
}

/* pid (name) state ...: the name may have anything in it, also parentheses. */
bool state_is_runnable(pid_t tid)
{
    char text[512];
    const char *end;
    if (!read_file(tid, "stat", text, sizeof text))
        return false;
    end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'R';
}

/* Time on a processor, time waiting for one, and how often it got one. */
uint64_t state_delay_ns(pid_t tid)
{
    char text[128], *end;
    if (!read_file(tid, "schedstat", text, sizeof text))
        return 0;
    strtoull(text, &end, 10);
    return strtoull(end, NULL, 10);
}

/* Finds the number behind a label of the thread's status, such as "\nSigBlk:\t". */
static bool read_status(pid_t tid, const char *label, int base, uint64_t *number)
{
    char text[STATUS_BYTES];
    const char *found;
    if (!read_file(tid, "status", text, sizeof text))
        return false;
    found = strstr(text, label);
    if (found != NULL)
        *number = strtoull(found + strlen(label), NULL, base);
    return found != NULL;
}

uint64_t state_n_waits(pid_t tid)
{
    uint64_t n = 0;
    return read_status(tid, "\nvoluntary_ctxt_switches:\t", 10, &n) ? n : UINT64_MAX;
}

/* 16 digits; the lowest bit is signal 1. */
bool state_blocks(pid_t tid, int signal)
{
    uint64_t mask = 0;
    return read_status(tid, "\nSigBlk:\t", 16, &mask) && (mask >> (signal - 1) & 1);
}
