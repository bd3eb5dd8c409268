/*
 * make_logs.c - writes files for tests/logs, of the version of the day: `make_logs FOLDER`. Those
 * of v1 can only be kept: memory.bin has its events in EVENTS blocks, lines.bin is from before LINE
 * and FUNCTION records got more fields.
 */
#include "check.h"
#include "log_fixture.h"

static void make(const char *folder, const char *name, struct log_fixture *log)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_file(path, log->bytes, log->n_bytes);
    free(log->bytes);
}

static struct log_fixture memory, lines, bounded, sampled;

int main(int argc, char **argv)
{
    CHECK_EQ(argc, 2);
    fixture_memory(&memory, true);
    make(argv[1], "memory.bin", &memory);
    fixture_lines(&lines);
    make(argv[1], "lines-2.bin", &lines);
    fixture_bounded(&bounded);
    make(argv[1], "bounded.bin", &bounded);
    fixture_sampled(&sampled);
    make(argv[1], "sampled.bin", &sampled);
    return 0;
}
