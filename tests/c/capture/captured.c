#include "captured.h"

#include "check.h"
#include "profile/merge.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void captured_read(struct captured *captured, const char *path)
{
    struct read_error error = {0};
    struct merge merge;
    size_t room = 1024;
    uint32_t row;
    *captured = (struct captured){0};
    if (log_reader_open(&captured->log, path, &error) != 0 ||
        log_reader_add_ring(&captured->log, path, &error) != 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    CHECK(merge_init(&merge, &captured->log) == 0);
    captured->events = malloc(room * sizeof captured->events[0]);
    while (captured->events != NULL &&
           merge_next(&merge, &captured->events[captured->n].event, &row)) {
        captured->events[captured->n++].thread = captured->log.streams.items[row].thread_row;
        if (captured->n == room) {
            room *= 2;
            captured->events = realloc(captured->events, room * sizeof captured->events[0]);
        }
    }
    CHECK(captured->events != NULL);
    CHECK(!merge.damaged && !merge.no_memory);
    merge_release(&merge);
}

void captured_release(struct captured *captured)
{
    free(captured->events);
    log_reader_release(&captured->log);
}

size_t captured_count(const struct captured *captured, uint8_t kind, uint64_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < captured->n; i++) {
        const struct event *event = &captured->events[i].event;
        n += event->size == size && (kind == 0 || event->kind == kind);
    }
    return n;
}

const struct captured_event *captured_find(const struct captured *captured, uint8_t kind,
                                           uint64_t size)
{
    for (size_t i = 0; i < captured->n; i++) {
        const struct event *event = &captured->events[i].event;
        if (event->kind == kind && event->size == size)
            return &captured->events[i];
    }
    return NULL;
}

const struct captured_event *captured_at(const struct captured *captured, uint8_t kind,
                                         const void *address, const struct captured_event *from)
{
    const struct captured_event *end = captured->events + captured->n;
    for (const struct captured_event *at = from; at != NULL && at < end; at++) {
        if (at->event.kind == kind && at->event.address == (uintptr_t)address)
            return at;
    }
    return NULL;
}

int run_child(void (*run)(const char *path), const char *path)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        run(path);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}
