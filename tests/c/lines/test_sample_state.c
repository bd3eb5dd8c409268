#include "lines/sample_state.h"

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t other;
static int ready[2], go[2];

/* Blocks on a pipe, with a name that looks like the fields behind it. */
static void *wait_for_it(void *unused)
{
    char byte = 0;
    prctl(PR_SET_NAME, "a) R (b) R");
    other = (pid_t)syscall(SYS_gettid);
    CHECK_EQ(write(ready[1], &byte, 1), 1);
    CHECK_EQ(read(go[0], &byte, 1), 1);
    return unused;
}

int main(void)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    pthread_t thread;
    sigset_t set;
    uint64_t n_waits;
    char byte;
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigaddset(&set, SIGRTMAX);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_it, NULL), 0);
    CHECK_EQ(read(ready[0], &byte, 1), 1);

    CHECK(state_is_runnable(self));
    while (state_is_runnable(other))
        usleep(1000); /* between the two pipes */
    CHECK(!state_is_runnable(other));
    CHECK(state_delay_ns(self) < 1000000000ull * 3600);
    n_waits = state_n_waits(self);
    CHECK(n_waits > 0 && n_waits < UINT64_MAX);
    usleep(1000);
    CHECK(state_n_waits(self) > n_waits);
    CHECK_EQ(state_n_waits(1 << 30), UINT64_MAX);                     /* there is none */
    CHECK(state_blocks(self, SIGURG) && state_blocks(other, SIGURG)); /* masks are inherited */
    CHECK(state_blocks(self, SIGRTMAX));
    CHECK(!state_blocks(self, SIGUSR1));
    CHECK(!state_blocks(self, SIGRTMAX - 1));

    CHECK_EQ(write(go[1], &byte, 1), 1);
    pthread_join(thread, NULL);
    return 0;
}
