/*
 * captured.h - what the capture library wrote, for its tests: all events of a file and its ring in
 * order, read with the reader that reports use.
 */
#ifndef PROFTRACE_TESTS_CAPTURED_H
#define PROFTRACE_TESTS_CAPTURED_H

#include "profile/log_reader.h"

#include "test_path.h"

#include <stdbool.h>

struct captured_event {
    struct event event;
    uint32_t thread; /* row in log.dict.threads */
};

struct captured {
    struct log_reader log;
    struct captured_event *events; /* owned */
    size_t n;
};

/* Fails the test when the file cannot be read to its end. */
void captured_read(struct captured *captured, const char *path);
void captured_release(struct captured *captured);

/* How many events there are of a kind with this size (any kind: 0). */
size_t captured_count(const struct captured *captured, uint8_t kind, uint64_t size);
/* The first event of a kind with this size, or NULL. */
const struct captured_event *captured_find(const struct captured *captured, uint8_t kind,
                                           uint64_t size);
/* The first event of a kind at this address, at or behind `from`; NULL if none. */
const struct captured_event *captured_at(const struct captured *captured, uint8_t kind,
                                         const void *address, const struct captured_event *from);

/* Starts a capture without Python into `path`, replacing what is there; fails the test if not. */
void start_capture(const char *path);

/* Runs a function in a child process and returns its wait status; it exits with 0 if it returns. */
int run_child(void (*run)(const char *path), const char *path);

#endif
