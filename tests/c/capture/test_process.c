/* fork, exec, exit, full disks and closed descriptors. */
#include "capture/capture.h"
#include "captured.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *volatile kept;

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void allocate(size_t n_bytes)
{
    kept = malloc(n_bytes);
}

/* Reads a closed capture: it has an END block of this reason, and no ring. */
static void read_ended(struct captured *captured, const char *path, enum end_reason reason)
{
    char ring[128];
    captured_read(captured, path);
    CHECK_EQ(captured->log.ending, LOG_ENDED);
    CHECK_EQ(captured->log.end.reason, reason);
    snprintf(ring, sizeof ring, "%s.ring", path);
    CHECK(!exists(ring));
}

/* ---- fork ---------------------------------------------------------------------------------- */

static void fork_child(bool by_exit)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 9000; i++) /* more than a slot */
            free((allocate(777), kept));
        CHECK(!proftrace_capture_is_on());
        proftrace_capture_mark(MARK_USER, 1);
        if (by_exit)
            exit(3);
        _exit(3);
    }
    CHECK(waitpid(pid, NULL, 0) == pid);
}

static void run_forks(const char *path)
{
    start_capture(path);
    for (int i = 0; i < 20; i++) {
        allocate(1000 + (size_t)i);
        fork_child(i % 2 == 0);
    }
    exit(0);
}

static void a_forked_child_writes_nothing(void)
{
    const char *path = test_path("fork");
    struct captured captured;
    CHECK_EQ(run_child(run_forks, path), 0);
    read_ended(&captured, path, END_CLEAN);
    CHECK_EQ(captured_count(&captured, 0, 777), 0);
    for (uint64_t i = 0; i < 20; i++)
        CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1000 + i), 1);
    captured_release(&captured);
}

static void start_in_child(const char *path)
{
    start_capture(path);
    allocate(500);
    if (fork() == 0) {
        start_capture(test_path("by-child"));
        allocate(501);
        exit(0);
    }
    wait(NULL);
    allocate(502);
    exit(0);
}

static void a_child_of_a_recorded_process_can_start_its_own(void)
{
    const char *path = test_path("child-start");
    struct captured captured;
    CHECK_EQ(run_child(start_in_child, path), 0);
    read_ended(&captured, path, END_CLEAN);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 500), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 501), 0);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 502), 1);
    captured_release(&captured);
    read_ended(&captured, test_path("by-child"), END_CLEAN);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 501), 1);
    captured_release(&captured);
}

/* ---- followed children --------------------------------------------------------------------- */

static void start_following(const char *path)
{
    const struct capture_meta metas[] = {{"program", "forks"}};
    struct capture_options options = {.path = path,
                                      .replace = true,
                                      .quiet = true,
                                      .follow_forks = true,
                                      .metas = metas,
                                      .n_metas = 1};
    const char *no_stacks;
    CHECK(proftrace_capture_start(&options, &no_stacks) == 0);
}

static const char *child_path(const char *path, pid_t pid)
{
    static char text[128];
    snprintf(text, sizeof text, "%s.%ld", path, (long)pid);
    return text;
}

/* Processes of this test tell each other their ids. */
static struct {
    volatile pid_t child, grandchild, silent;
} *family;

static void live_as_child(void)
{
    void *inherited = kept;
    family->child = getpid();
    for (int i = 0; i < 9000; i++) /* more than a slot */
        free((allocate(1777), kept));
    free(inherited);
    if (fork() == 0) {
        family->grandchild = getpid();
        allocate(1778);
        _exit(0);
    }
    wait(NULL);
    allocate(1779);
}

static void run_family(const char *path)
{
    start_following(path);
    allocate(1776);
    if (fork() == 0) {
        live_as_child();
        exit(0);
    }
    wait(NULL);
    if ((family->silent = fork()) == 0)
        _exit(0); /* has nothing to record */
    wait(NULL);
    allocate(1780);
    exit(0);
}

static void a_followed_child_has_a_log_of_its_own(void)
{
    const char *path = test_path("follow");
    struct captured captured;
    family = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(family != MAP_FAILED);
    CHECK_EQ(run_child(run_family, path), 0);
    read_ended(&captured, path, END_CLEAN);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1776), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1777), 0);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1780), 1);
    captured_release(&captured);

    read_ended(&captured, child_path(path, family->child), END_CLEAN);
    CHECK_EQ(captured.log.header.pid, (uint32_t)family->child);
    CHECK_EQ(captured.log.dict.metas.n, 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1776), 0);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1777), 9000);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1778), 0);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1779), 1);
    captured_release(&captured);

    read_ended(&captured, child_path(path, family->grandchild), END_CLEAN);
    CHECK_EQ(captured.log.header.ppid, (uint32_t)family->child);
    CHECK_EQ(captured.n, 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1778), 1);
    captured_release(&captured);
    CHECK(!exists(child_path(path, family->silent)));
}

/* A process id may come again; what an earlier one recorded stays. */
static void run_child_with_taken_name(const char *path)
{
    start_following(path);
    if (fork() == 0) {
        family->child = getpid();
        CHECK(close(open(child_path(path, getpid()), O_WRONLY | O_CREAT, 0600)) == 0);
        allocate(1781);
        exit(0);
    }
    wait(NULL);
    exit(0);
}

static void a_childs_log_replaces_nothing(void)
{
    const char *path = test_path("taken");
    struct captured captured;
    char second[136];
    CHECK_EQ(run_child(run_child_with_taken_name, path), 0);
    snprintf(second, sizeof second, "%s.2", child_path(path, family->child));
    read_ended(&captured, second, END_CLEAN);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1781), 1);
    captured_release(&captured);
}

/* ---- children that share or copy memory without fork --------------------------------------- */

/* A child that the fork handlers are not told of must not write to its parent's log either. */
static void run_hidden_forks(const char *path)
{
    start_capture(path);
    for (int i = 0; i < 20; i++) {
        pid_t pid;
        allocate(1000 + (size_t)i);
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0) {
            for (int n = 0; n < 9000; n++) /* more than a slot */
                free((allocate(777), kept));
            CHECK(!proftrace_capture_is_on());
            syscall(SYS_exit_group, 0);
        }
        CHECK(waitpid(pid, NULL, 0) == pid);
    }
    exit(0);
}

static void a_child_that_was_made_past_the_handlers_writes_nothing(void)
{
    const char *path = test_path("hidden-fork");
    struct captured captured;
    CHECK_EQ(run_child(run_hidden_forks, path), 0);
    read_ended(&captured, path, END_CLEAN);
    CHECK_EQ(captured_count(&captured, 0, 777), 0);
    CHECK_EQ(captured.n, 20);
    for (uint64_t i = 0; i < 20; i++)
        CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1000 + i), 1);
    captured_release(&captured);
}

static void spawn_children(const char *path)
{
    char *const argv[] = {(char[]){"/bin/true"}, NULL};
    pid_t pid;
    start_capture(path);
    for (int i = 0; i < 5; i++) {
        CHECK(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0);
        CHECK(waitpid(pid, NULL, 0) == pid);
        pid = vfork();
        if (pid == 0) {
            for (int n = 0; n < 9000; n++) /* more than a slot */
                free((allocate(1999), kept));
            execv(argv[0], argv);
            _exit(1);
        }
        CHECK(waitpid(pid, NULL, 0) == pid);
        allocate(2000 + (size_t)i);
    }
    exit(0);
}

static void a_child_that_shares_our_memory_ends_nothing(void)
{
    const char *path = test_path("vfork");
    struct captured captured;
    CHECK_EQ(run_child(spawn_children, path), 0);
    read_ended(&captured, path, END_CLEAN);
    for (uint64_t i = 0; i < 5; i++)
        CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 2000 + i), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 1999), 5 * 9000);
    captured_release(&captured);
}

/* ---- exec and exit ------------------------------------------------------------------------- */

static void become_true(const char *path)
{
    start_capture(path);
    allocate(5000012);
    CHECK(execl("/no/such/program", "program", NULL) == -1 && errno == ENOENT);
    CHECK(execlp("/bin/true", "true", NULL) == 0);
}

static void an_exec_ends_the_log_as_such(void)
{
    const char *path = test_path("exec");
    struct captured captured;
    CHECK_EQ(run_child(become_true, path), 0);
    read_ended(&captured, path, END_EXEC);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 5000012), 1);
    captured_release(&captured);
}

static void fail_to_become(const char *path)
{
    char file[128];
    int fd;
    snprintf(file, sizeof file, "%s.not-a-program", path);
    fd = open(file, O_WRONLY | O_CREAT, 0755);
    CHECK(fd >= 0 && write(fd, "?", 1) == 1);
    close(fd);
    start_capture(path);
    allocate(3001);
    CHECK(execle(file, "x", NULL, environ) == -1 && errno == ENOEXEC);
    allocate(3002);
    exit(0);
}

static void an_exec_that_fails_changes_nothing(void)
{
    const char *path = test_path("exec-fails");
    struct captured captured;
    CHECK_EQ(run_child(fail_to_become, path), 0);
    read_ended(&captured, path, END_CLEAN);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 3001), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 3002), 1);
    CHECK_EQ(captured.log.end.n_events, captured.n);
    captured_release(&captured);
}

static void leave_at_once(const char *path)
{
    start_capture(path);
    allocate(4001);
    _exit(5);
}

static void leave_quickly(const char *path)
{
    start_capture(path);
    allocate(4001);
    quick_exit(5);
}

static void every_way_out_closes_the_log(void)
{
    void (*const ways[])(const char *) = {leave_at_once, leave_quickly};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const char *path = test_path("exit");
        struct captured captured;
        CHECK_EQ(WEXITSTATUS(run_child(ways[i], path)), 5);
        read_ended(&captured, path, END_CLEAN);
        CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 4001), 1);
        captured_release(&captured);
    }
}

static void interrupt_itself(const char *path)
{
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    start_capture(path);
    signal(SIGINT, SIG_IGN);
    CHECK(kill(getpid(), SIGINT) == 0);
    CHECK(proftrace_capture_is_on());
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_BLOCK, &interrupt, NULL);
    CHECK(kill(getpid(), SIGINT) == 0);
    CHECK(kill(getpid(), 0) == 0);
    CHECK(proftrace_capture_is_on());
    signal(SIGINT, SIG_IGN); /* takes the pending one away */
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
    allocate(4002);
    (void)kill(getpid(), SIGINT);
}

/* So Python ends when nobody catches a KeyboardInterrupt. */
static void a_process_that_interrupts_itself_closes_the_log(void)
{
    const char *path = test_path("interrupt");
    struct captured captured;
    int status = run_child(interrupt_itself, path);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    read_ended(&captured, path, END_CLEAN);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 4002), 1);
    captured_release(&captured);
}

static void leave_in_handler(int number)
{
    (void)number;
    _exit(6);
}

/* The handler may interrupt a hook, whose lock it must not wait for. */
static void interrupt_hooks(const char *path)
{
    signal(SIGALRM, leave_in_handler);
    start_capture(path);
    ualarm(1500, 0);
    for (;;)
        free((allocate(100), kept));
}

static void an_exit_inside_a_hook_does_not_hang(void)
{
    for (int i = 0; i < 20; i++) {
        const char *path = test_path("handler");
        struct captured captured;
        CHECK_EQ(WEXITSTATUS(run_child(interrupt_hooks, path)), 6);
        captured_read(&captured, path);
        CHECK(captured.n > 0);
        captured_release(&captured);
    }
}

/* ---- a log that cannot be written ---------------------------------------------------------- */

static void write_too_much(const char *path)
{
    struct rlimit limit = {100000, 100000};
    char errors[128];
    uint64_t random = 1;
    int fd;
    snprintf(errors, sizeof errors, "%s.stderr", path);
    fd = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    start_capture(path);
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        allocate(random >> 50); /* sizes and addresses that do not compress well */
        if (i % 3 != 0)
            free(kept);
    }
    CHECK(!proftrace_capture_is_on());
    exit(9); /* not killed by SIGXFSZ */
}

static void a_full_disk_stops_the_recording_only(void)
{
    const char *path = test_path("full");
    struct captured captured;
    struct stat log;
    char line[512] = "";
    FILE *errors;
    CHECK_EQ(WEXITSTATUS(run_child(write_too_much, path)), 9);
    CHECK(stat(path, &log) == 0 && log.st_size <= 100000 && log.st_size > 50000);
    captured_read(&captured, path);
    CHECK(captured.n > 10000);
    CHECK(captured.log.ending == LOG_ENDED || captured.log.ending == LOG_OPEN);
    if (captured.log.ending == LOG_ENDED) {
        CHECK_EQ(captured.log.end.reason, END_WRITE_FAILED);
        CHECK_EQ(captured.log.end.error, EFBIG);
    }
    captured_release(&captured);
    errors = fopen(test_path("full.stderr"), "r");
    CHECK(errors != NULL && fgets(line, sizeof line, errors) != NULL);
    CHECK(strncmp(line, "memtrace: cannot write ", 23) == 0);
    CHECK(fgets(line, sizeof line, errors) == NULL); /* once */
    fclose(errors);
}

/* Closes what it did not open, and opens its own file in that place. */
static void close_everything(const char *path)
{
    char name[128];
    struct stat own;
    start_capture(path);
    allocate(6001);
    for (int fd = 3; fd < 2000; fd++)
        close(fd);
    snprintf(name, sizeof name, "%s.own", path);
    for (int i = 0; i < 1100; i++) {
        if (open(name, O_RDWR | O_CREAT, 0600) < 0)
            break; /* the limit on descriptors */
    }
    CHECK(proftrace_capture_flush() == 0);
    allocate(6002);
    proftrace_capture_stop();
    CHECK(stat(name, &own) == 0 && own.st_size == 0);
}

static void a_descriptor_that_is_not_ours_any_more_is_left_alone(void)
{
    const char *path = test_path("closed");
    struct captured captured;
    struct rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK_EQ(run_child(close_everything, path), 0);
    read_ended(&captured, path, END_CLEAN);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 6001), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 6002), 1);
    captured_release(&captured);
}

static void remove_log(const char *path)
{
    start_capture(path);
    allocate(6003);
    CHECK(unlink(path) == 0);
    proftrace_capture_stop();
    exit(8);
}

static void a_log_that_is_deleted_is_not_made_again(void)
{
    const char *path = test_path("deleted");
    CHECK_EQ(WEXITSTATUS(run_child(remove_log, path)), 8);
    CHECK(!exists(path));
}

int main(void)
{
    a_forked_child_writes_nothing();
    a_child_of_a_recorded_process_can_start_its_own();
    a_followed_child_has_a_log_of_its_own();
    a_childs_log_replaces_nothing();
    a_child_that_was_made_past_the_handlers_writes_nothing();
    a_child_that_shares_our_memory_ends_nothing();
    an_exec_ends_the_log_as_such();
    an_exec_that_fails_changes_nothing();
    every_way_out_closes_the_log();
    a_process_that_interrupts_itself_closes_the_log();
    an_exit_inside_a_hook_does_not_hang();
    a_full_disk_stops_the_recording_only();
    a_descriptor_that_is_not_ours_any_more_is_left_alone();
    a_log_that_is_deleted_is_not_made_again();
    return 0;
}
