#include "lines/result.h"

#include "format/block.h"
#include "format/record.h"
#include "lines/account.h"

#include "check.h"
#include "test_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path, *temporary;
static const char key;

static struct result_settings settings(void)
{
    return (struct result_settings){
        .path = path,
        .temporary = temporary,
        .pid = 7,
        .start = ticks_anchor(),
        .session_id = {1, 2, 3},
    };
}

static void count_something(void)
{
    int32_t lines[4] = {0, 11, 12, 14};
    uint8_t skip[1] = {0};
    struct hit_rules rules = {.skip = skip};
    struct code_facts facts = {
        .key = &key,
        .name = "f",
        .qualname = "C.f",
        .file = "a.py",
        .name_bytes = 1,
        .qualname_bytes = 3,
        .file_bytes = 4,
        .source = registry_add_source("a.py", 4, "text\n", 5),
        .def_line = 10,
        .n_units = 4,
        .line_of_unit = lines,
        .rules = &rules,
    };
    struct lines_thread *thread = account_thread();
    CHECK(registry_add_code(&facts) != NULL);
    CHECK_EQ(registry_add_meta("tool", "lprof", 5), 0);
    account_start(thread, &key);
    CHECK(account_line(thread, 11, thread->last + 10) == NULL);
    CHECK(account_line(thread, 12, thread->last + 10) == NULL);
    CHECK(account_line(thread, 12, thread->last + 10) == NULL);
    account_leave(thread, &key, thread->last + 10);
}

/* What a reader would make of the file; counts records by tag and checks the blocks on the way. */
struct seen {
    unsigned n_tags[256];
    unsigned n_blocks[BLOCK_END + 1];
    struct rec_line lines[8];
    struct rec_function function;
};

static void read_records(struct get from, struct seen *seen)
{
    struct get payload;
    uint8_t tag;
    while ((tag = table_next(&from, &payload)) != 0) {
        unsigned n = seen->n_tags[tag]++;
        if (tag == TABLE_LINE)
            record_get_line(&payload, &seen->lines[n]);
        if (tag == TABLE_FUNCTION)
            record_get_function(&payload, &seen->function);
        CHECK(!payload.bad);
    }
    CHECK(!from.bad);
}

static void read_file(struct seen *seen)
{
    static uint8_t bytes[1 << 20], decoded[1 << 20];
    int fd = open(path, O_RDONLY);
    ssize_t n_bytes = read(fd, bytes, sizeof bytes), at = FILE_HEADER_BYTES;
    struct file_header header;
    struct block_header block;
    close(fd);
    CHECK(n_bytes > FILE_HEADER_BYTES);
    CHECK_EQ(file_header_get(bytes, (size_t)n_bytes, &header), HEADER_OK);
    CHECK_EQ(header.content, FILE_HAS_LINES);
    CHECK_EQ(header.pid, 7);
    while (block_peek(bytes + at, (size_t)(n_bytes - at), &block) == BLOCK_OK) {
        CHECK_EQ(block_unpack(bytes + at, &block, decoded), 0);
        seen->n_blocks[block.kind]++;
        if (block.kind != BLOCK_END)
            read_records(get_over(decoded, block.raw_bytes), seen);
        at += BLOCK_HEADER_BYTES + block.stored_bytes;
    }
    CHECK_EQ(at, n_bytes);
}

static void a_result_holds_everything_a_report_needs(void)
{
    struct result_settings to = settings();
    struct seen seen = {0};
    CHECK_EQ(result_write(&to, END_CLEAN), 0);
    CHECK(access(temporary, F_OK) != 0);
    read_file(&seen);
    CHECK_EQ(seen.n_tags[TABLE_CODE], 1);
    CHECK_EQ(seen.n_tags[TABLE_STRING], 3);
    CHECK_EQ(seen.n_tags[TABLE_SOURCE], 1);
    CHECK_EQ(seen.n_tags[TABLE_META], 1);
    CHECK_EQ(seen.n_tags[TABLE_THREAD], 1);
    CHECK_EQ(seen.n_tags[TABLE_LINE], 2); /* line 14 never ran */
    CHECK_EQ(seen.n_blocks[BLOCK_END], 1);
    CHECK_EQ(seen.function.calls, 1);
    CHECK_EQ(seen.function.source, 1);
    CHECK_EQ(seen.lines[0].line, 11);
    CHECK_EQ(seen.lines[0].hits, 1);
    CHECK_EQ(seen.lines[1].line, 12);
    CHECK_EQ(seen.lines[1].hits, 2);
    CHECK_EQ(seen.lines[1].raw_hits, 2);
}

static void a_result_replaces_the_one_before(void)
{
    struct result_settings to = settings();
    struct seen seen = {0};
    CHECK_EQ(result_write(&to, END_EXEC), 0);
    CHECK_EQ(result_write(&to, END_CLEAN), 0);
    read_file(&seen);
    CHECK_EQ(seen.n_tags[TABLE_LINE], 2);
}

static void large_sources_take_blocks_of_their_own(void)
{
    static char text[400000];
    struct result_settings to = settings();
    struct seen seen = {0};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 23);
    for (int i = 0; i < 5; i++)
        CHECK(registry_add_source("b.py", 4, text, sizeof text) != 0);
    CHECK_EQ(result_write(&to, END_CLEAN), 0);
    read_file(&seen);
    CHECK_EQ(seen.n_tags[TABLE_SOURCE], 6);
    CHECK(seen.n_blocks[BLOCK_DICT] > 1);
}

static void a_result_that_cannot_be_written_leaves_nothing(void)
{
    struct result_settings to = settings();
    struct stat before, after;
    to.temporary = "/nowhere/at/all.tmp";
    CHECK_EQ(result_write(&to, END_CLEAN), ENOENT);
    to = settings();
    CHECK_EQ(stat(path, &before), 0);
    to.path = test_path(""); /* a file cannot take the place of a folder */
    CHECK(result_write(&to, END_CLEAN) != 0);
    CHECK(access(temporary, F_OK) != 0);
    CHECK_EQ(stat(path, &after), 0);
    CHECK_EQ(before.st_ino, after.st_ino);
}

int main(void)
{
    path = test_path("out.lprof");
    temporary = test_path("out.lprof.tmp");
    count_something();
    a_result_holds_everything_a_report_needs();
    a_result_replaces_the_one_before();
    a_result_that_cannot_be_written_leaves_nothing();
    large_sources_take_blocks_of_their_own();
    return 0;
}
