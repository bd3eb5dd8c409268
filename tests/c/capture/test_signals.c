/* Handlers that allocate or jump, signals that end the process, and SIGKILL's gentler relatives. */
#include "capture/capture.h"
#include "capture/unwind_arch.h"
#include "captured.h"
#include "check.h"

#include <link.h> /* dl_iterate_phdr */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;
static volatile sig_atomic_t n_handled;

static void allocate(size_t n_bytes)
{
    kept = malloc(n_bytes);
}

static void set_timer(long interval_us)
{
    struct itimerval timer = {{0, interval_us}, {0, interval_us}};
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void start_ending_on_signals(const char *path)
{
    struct capture_options options = {
        .path = path, .replace = true, .quiet = true, .end_on_signals = true};
    const char *no_stacks;
    CHECK(proftrace_capture_start(&options, &no_stacks) == 0);
}

static void read_ended(struct captured *captured, const char *path)
{
    char ring[128];
    captured_read(captured, path);
    CHECK_EQ(captured->log.ending, LOG_ENDED);
    CHECK_EQ(captured->log.end.reason, END_CLEAN);
    CHECK_EQ(captured->log.end.n_events, captured->n);
    snprintf(ring, sizeof ring, "%s.ring", path);
    CHECK(access(ring, F_OK) == -1);
}

/* ---- handlers that allocate ---------------------------------------------------------------- */

static void allocate_in_handler(int number)
{
    void *volatile block = malloc(4711);
    (void)number;
    free(block);
    n_handled++;
}

/* What a handler allocates inside a hook is not recorded; nothing else may be lost for it. */
static void a_handler_that_allocates_disturbs_nothing(void)
{
    const char *path = test_path("handler");
    struct captured captured;
    size_t n = 0;
    signal(SIGALRM, allocate_in_handler);
    start_capture(path);
    set_timer(100);
    while (n_handled < 1500) {
        allocate(100);
        free(kept);
        n++;
    }
    set_timer(0);
    signal(SIGALRM, SIG_DFL);
    proftrace_capture_stop();
    read_ended(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 100), n);
    CHECK(captured_count(&captured, EVENT_MALLOC, 4711) <= (size_t)n_handled);
    CHECK(captured_count(&captured, EVENT_MALLOC, 4711) > 0);
    captured_release(&captured);
}

/* ---- handlers that jump -------------------------------------------------------------------- */

static sigjmp_buf target;

/* The C library's code; nobody can jump out of the middle of its malloc and go on. */
static uintptr_t c_library, c_library_end;

static int find_c_library(struct dl_phdr_info *info, size_t n_bytes, void *unused)
{
    (void)n_bytes;
    (void)unused;
    if (strstr(info->dlpi_name, "/libc.so") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X)) {
            c_library = info->dlpi_addr + header->p_vaddr;
            c_library_end = c_library + header->p_memsz;
        }
    }
    return 1;
}

static void jump(int number, siginfo_t *info, void *context)
{
    struct unwind_state at;
    (void)number;
    unwind_interrupted((uintptr_t)context - UNWIND_CONTEXT_OFFSET, &at);
    (void)info;
    if (at.ip < c_library || at.ip >= c_library_end)
        siglongjmp(target, 1);
}

static void *map_a_page(void)
{
    return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* The stack goes down by a lot before it calls: the hook that was left is then higher up. */
static NOINLINE void allocate_far_down(size_t n_bytes)
{
    volatile char room[20000];
    room[0] = room[sizeof room - 1] = 1;
    allocate(n_bytes + (size_t)room[0] * 0);
}

static void a_jump_out_of_a_hook_leaves_no_guard_behind(void)
{
    const char *path = test_path("jumps");
    struct captured captured;
    const struct sigaction action = {.sa_sigaction = jump, .sa_flags = SA_SIGINFO};
    volatile size_t n = 0;
    dl_iterate_phdr(find_c_library, NULL);
    CHECK(c_library != 0);
    sigaction(SIGALRM, &action, NULL);
    start_capture(path);
    while (n < 300) {
        if (sigsetjmp(target, 1) == 0) {
            set_timer(150);
            for (;;) /* hooks that may be left: the C library's own malloc may not */
                munmap(map_a_page(), 4096);
        }
        set_timer(0);
        allocate_far_down(9001);
        n++;
    }
    signal(SIGALRM, SIG_DFL);
    CHECK(proftrace_capture_is_on());
    proftrace_capture_stop();
    read_ended(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 9001), n);
    captured_release(&captured);
}

/* ---- signals that end the process ---------------------------------------------------------- */

static void work_until_ended(const char *path)
{
    start_ending_on_signals(path);
    allocate(5001);
    for (;;)
        free((allocate(100), kept));
}

static int end_child(const char *path, int number, useconds_t after_us)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        work_until_ended(path);
    while (access(path, F_OK) != 0)
        usleep(100);
    usleep(2000 + after_us);
    kill(pid, number);
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void a_signal_that_ends_the_process_closes_the_log(void)
{
    const int numbers[] = {SIGTERM, SIGHUP, SIGALRM, SIGXCPU};
    for (unsigned i = 0; i < 40; i++) {
        const char *path = test_path("ended");
        const int number = numbers[i % 4];
        struct captured captured;
        int status;
        unlink(path);
        status = end_child(path, number, i * 37);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == number);
        read_ended(&captured, path);
        CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 5001), 1);
        captured_release(&captured);
    }
}

static void leave_by_status(int number)
{
    _exit(number);
}

static void end_with_own_handler(const char *path)
{
    struct sigaction now;
    signal(SIGHUP, leave_by_status);
    start_ending_on_signals(path);
    CHECK(sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == leave_by_status);
    signal(SIGTERM, leave_by_status);
    allocate(5002);
    raise(SIGTERM);
}

static void a_handler_of_the_program_takes_the_place_of_ours(void)
{
    const char *path = test_path("own-handler");
    struct captured captured;
    CHECK_EQ(WEXITSTATUS(run_child(end_with_own_handler, path)), SIGTERM);
    read_ended(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 5002), 1);
    captured_release(&captured);
}

static void give_up(const char *path)
{
    start_capture(path);
    allocate(5003);
    abort();
}

static void an_abort_closes_the_log(void)
{
    const char *path = test_path("abort");
    struct captured captured;
    int status = run_child(give_up, path);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    read_ended(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 5003), 1);
    captured_release(&captured);
}

/* A child that is not recorded has the handler too; it just dies of the signal. */
static void fork_and_end_the_child(const char *path)
{
    int status;
    pid_t pid;
    start_ending_on_signals(path);
    allocate(5004);
    pid = fork();
    if (pid == 0) {
        for (;;)
            free((allocate(100), kept));
    }
    usleep(3000);
    kill(pid, SIGTERM);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGTERM);
    allocate(5005);
    exit(0);
}

static void a_forked_child_dies_of_the_signal_and_writes_nothing(void)
{
    const char *path = test_path("fork");
    struct captured captured;
    CHECK_EQ(run_child(fork_and_end_the_child, path), 0);
    read_ended(&captured, path);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 5005), 1);
    CHECK_EQ(captured_count(&captured, EVENT_MALLOC, 100), 0);
    captured_release(&captured);
}

int main(void)
{
    signal(SIGHUP, SIG_DFL); /* nohup has it ignored */
    a_handler_that_allocates_disturbs_nothing();
    a_jump_out_of_a_hook_leaves_no_guard_behind();
    a_signal_that_ends_the_process_closes_the_log();
    a_handler_of_the_program_takes_the_place_of_ours();
    an_abort_closes_the_log();
    a_forked_child_dies_of_the_signal_and_writes_nothing();
    return 0;
}
