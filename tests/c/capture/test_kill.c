/* SIGKILL at random moments: what is read is exactly what had happened until then. */
#include "captured.h"
#include "check.h"

#include "base/table.h" /* hash_u64 */

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS 1000
#define LIVE 64
#define MOST_OPERATIONS 20000 /* a slot holds about 2,700 */

/* In shared memory: what the killed process says it did. */
struct truth {
    volatile uint64_t begun; /* operations, counted before and after each one */
    volatile uint64_t done;
};

static struct truth *truth;

static uint64_t size_of(uint64_t operation)
{
    return 100 + hash_u64(operation) % 1000;
}

/* Operation i frees the block of operation i - LIVE and allocates one of a size of its own. */
static void work_forever(const char *path)
{
    void *volatile blocks[LIVE] = {NULL};
    start_capture(path);
    for (uint64_t i = 0;; i++) {
        truth->begun = i + 1;
        free(blocks[i % LIVE]);
        blocks[i % LIVE] = malloc(size_of(i));
        truth->done = i + 1;
    }
}

static void sleep_ns(long ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}

/* Returns how many allocations were read. */
static uint64_t check_prefix(const char *path)
{
    struct captured captured;
    uint64_t n_allocations = 0, n_frees = 0;
    uint64_t addresses[LIVE];
    captured_read(&captured, path);
    for (size_t i = 0; i < captured.n; i++) {
        const struct event *event = &captured.events[i].event;
        if (event->kind == EVENT_FREE) {
            CHECK_EQ(event->address, addresses[n_frees % LIVE]);
            n_frees++;
        } else {
            CHECK_EQ(event->kind, EVENT_MALLOC);
            CHECK_EQ(event->size, size_of(n_allocations));
            addresses[n_allocations % LIVE] = event->address;
            n_allocations++;
        }
    }
    CHECK(n_allocations >= truth->done && n_allocations <= truth->begun);
    if (n_allocations > LIVE)
        CHECK(n_frees >= truth->done - LIVE && n_frees <= truth->begun - LIVE);
    captured_release(&captured);
    return n_allocations;
}

int main(void)
{
    const char *path = test_path("killed");
    uint64_t longest = 0;
    truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(truth != MAP_FAILED);
    for (uint64_t run = 0; run < RUNS; run++) {
        int status;
        pid_t pid;
        uint64_t n;
        *truth = (struct truth){0, 0};
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            work_forever(path);
        while (truth->begun <= hash_u64(run) % MOST_OPERATIONS)
            sleep_ns(20000);
        kill(pid, SIGKILL);
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        n = check_prefix(path);
        longest = n > longest ? n : longest;
    }
    CHECK(longest > 10000); /* some runs must have written blocks, not only the ring */
    return 0;
}
