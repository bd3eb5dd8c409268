#include "lines/ending.h"

#include "lines/account.h"

#include "check.h"
#include "test_path.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_CHILDREN 100

static char parts[4096];
static const char key;

static void count_something(void)
{
    int32_t lines[2] = {0, 11};
    uint8_t skip[1] = {0};
    struct hit_rules rules = {.skip = skip};
    struct code_facts facts = {
        .key = &key,
        .name = "f",
        .qualname = "f",
        .file = "a.py",
        .name_bytes = 1,
        .qualname_bytes = 1,
        .file_bytes = 4,
        .def_line = 10,
        .n_units = 2,
        .line_of_unit = lines,
        .rules = &rules,
    };
    struct lines_thread *thread = account_thread();
    CHECK(registry_add_code(&facts) != NULL);
    account_start(thread, &key);
    CHECK(account_line(thread, 11, thread->last + 10) == NULL);
    account_leave(thread, &key, thread->last + 10);
}

static struct result_settings process(void)
{
    return (struct result_settings){.pid = (uint32_t)getpid(), .start = ticks_anchor()};
}

static void begin_session(void)
{
    struct ending_settings settings = {.result = process(), .parts = parts};
    settings.result.path = test_path("out.lprof");
    settings.result.temporary = test_path("out.lprof.tmp");
    ending_prepare(&settings);
    ending_watch_signals();
}

/* Begins again and again until it is ended; one byte says that it has begun. */
static void be_a_child(int to)
{
    struct result_settings own = process();
    ending_restart(&own);
    if (write(to, "x", 1) != 1)
        _exit(1);
    for (;;)
        ending_restart(&own);
}

static bool has_part_of(pid_t child)
{
    char part[4096 + 32];
    snprintf(part, sizeof part, "%s/%d-0", parts, (int)child);
    return access(part, F_OK) == 0 && unlink(part) == 0;
}

static void end_a_child(unsigned number)
{
    int channel[2], status;
    char byte;
    pid_t child;
    CHECK_EQ(pipe(channel), 0);
    child = fork();
    if (child == 0)
        be_a_child(channel[1]);
    CHECK_EQ(read(channel[0], &byte, 1), 1);
    nanosleep(&(struct timespec){.tv_nsec = 1000 * (long)number}, NULL);
    CHECK_EQ(kill(child, SIGTERM), 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK(has_part_of(child));
    close(channel[0]);
    close(channel[1]);
}

/* A pool that is done ends its workers, also those that have only just been forked. */
static void a_signal_finds_a_session_that_has_begun_or_has_not(void)
{
    for (unsigned i = 0; i < N_CHILDREN; i++)
        end_a_child(i);
}

int main(void)
{
    snprintf(parts, sizeof parts, "%s", test_path("parts"));
    CHECK_EQ(mkdir(parts, 0777), 0);
    count_something();
    begin_session();
    a_signal_finds_a_session_that_has_begun_or_has_not();
    CHECK_EQ(rmdir(parts), 0);
    return 0;
}
