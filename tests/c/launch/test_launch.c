#include "launch/boot_text.h"
#include "launch/plain_run.h"

#include "check.h"
#include "test_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- literals ----------------------------------------------------------------------------- */

static bool write_string(const char *text, char *room, size_t n_bytes)
{
    struct boot_text to = boot_text_over(room, n_bytes);
    boot_text_add_string(&to, text);
    return !to.bad;
}

static void texts_become_literals(void)
{
    char room[64];
    CHECK(write_string("a 'b' \"c\" \\ \n\t~", room, sizeof room));
    CHECK(strcmp(room, "'a \\'b\\' \"c\" \\\\ \\n\\t~'") == 0);
}

static void other_characters_are_refused(void)
{
    char room[64];
    CHECK(!write_string("caf\xc3\xa9", room, sizeof room));
    CHECK(!write_string("a\rb", room, sizeof room));
    CHECK(!write_string("a\x7f", room, sizeof room));
}

static void what_does_not_fit_is_refused(void)
{
    char room[6];
    CHECK(write_string("abc", room, sizeof room));
    CHECK(!write_string("abcd", room, sizeof room));
}

/* ---- command lines ------------------------------------------------------------------------ */

static char folder[PATH_MAX]; /* where the test is */

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(name, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
    CHECK(chmod(name, mode) == 0);
}

static bool reads(struct plain_run *run, const char *line)
{
    static char copy[256];
    char *words[16] = {NULL};
    size_t n = 0;
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[n++] = word;
    return plain_run_read(run, words);
}

static void plain_lines_are_read(void)
{
    struct plain_run run;
    char expected[PATH_MAX + 64];
    char option[] = "-o", command[] = "-c", text[] = "pass";
    char *absolute[] = {option, expected, command, text, NULL};
    CHECK(reads(&run, "-q -f --trace-python-allocators -o out.bin program.py -q word"));
    CHECK(run.quiet && run.force && run.python_allocators);
    CHECK_EQ(run.kind, TARGET_SCRIPT);
    CHECK(strcmp(run.value, "program.py") == 0);
    CHECK(strcmp(run.arguments[0], "-q") == 0 && strcmp(run.arguments[1], "word") == 0);
    CHECK(run.arguments[2] == NULL);
    snprintf(expected, sizeof expected, "%s/out.bin", folder);
    CHECK(strcmp(run.output, expected) == 0);
    CHECK(reads(&run, "-m module"));
    CHECK(!run.quiet && !run.force && !run.python_allocators);
    CHECK_EQ(run.kind, TARGET_MODULE);
    snprintf(expected, sizeof expected, "%s/memtrace-module.%ld.bin", folder, (long)getpid());
    CHECK(strcmp(run.output, expected) == 0);
    snprintf(expected, sizeof expected, "%s/new", folder);
    CHECK(plain_run_read(&run, absolute));
    CHECK_EQ(run.kind, TARGET_COMMAND);
    CHECK(strcmp(run.output, expected) == 0);
}

static void all_other_lines_are_not(void)
{
    static const char *const lines[] = {
        "", "-q", "-m", "-c", "-o", "-o -q program.py", "-fq program.py", "--native program.py",
        "--help", "--output=x program.py", "- program.py", "--follow-children program.py",
        "missing.py", "archive", "elf", "unreadable.py/x", ".", "/",
        /* outputs */
        "-o ./out.bin program.py", "-o a/../out.bin program.py", "-o missing/out.bin program.py",
        "-o there.bin program.py", "-f -o program.py program.py", "-f -o link program.py",
        "-f -o other-name program.py", "-f -o folder program.py", "-o folder/ program.py",
        "-f -o pipe program.py"};
    struct plain_run run;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (reads(&run, lines[i]))
            CHECK_EQ(i, -1); /* shows which */
    }
    CHECK(reads(&run, "-f -o there.bin program.py"));
}

int main(void)
{
    texts_become_literals();
    other_characters_are_refused();
    what_does_not_fit_is_refused();
    CHECK(chdir(test_path("")) == 0 && getcwd(folder, sizeof folder) != NULL);
    write_file("program.py", "pass\n", 0644);
    write_file("there.bin", "", 0644);
    write_file("archive", "PK\x03\x04", 0644);
    write_file("elf",
               "\x7f"
               "ELF",
               0755);
    CHECK(symlink("there.bin", "link") == 0 && link("program.py", "other-name") == 0);
    CHECK(mkdir("folder", 0755) == 0 && mkfifo("pipe", 0644) == 0);
    plain_lines_are_read();
    all_other_lines_are_not();
    return 0;
}
