/*
 * make_logs.c - writes files for tests/logs, of the version of the day: `make_logs FOLDER`. Those
 * of v1 can only be kept: memory.bin has its events in EVENTS blocks, lines.bin is from before LINE
 * and FUNCTION records got more fields.
 */
#include "check.h"
#include "log_fixture.h"

static struct log_fixture memory, lines;

int main(int argc, char **argv)
{
    char path[4096];
    CHECK_EQ(argc, 2);
    fixture_memory(&memory, true);
    fixture_lines(&lines);
    snprintf(path, sizeof path, "%s/memory.bin", argv[1]);
    write_file(path, memory.bytes, memory.n_bytes);
    snprintf(path, sizeof path, "%s/lines-2.bin", argv[1]);
    write_file(path, lines.bytes, lines.n_bytes);
    free(memory.bytes);
    free(lines.bytes);
    return 0;
}
