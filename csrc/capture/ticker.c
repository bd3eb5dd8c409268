/* ticker.c - see ticker.h. */
#include "capture/ticker.h"

#include "base/arena.h" /* pages */
#include "base/raw_syscall.h"
#include "capture/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h> /* clone */
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define STACK_BYTES ((size_t)32 << 10)
#define LOOK_FOR_PARENT 100u /* ticks */

struct ticker {
    uint32_t stop; /* a futex: 1 = it is to end */
    uint32_t lock; /* of the samples: 1 = taken */
    uint32_t turn; /* how often they were taken */
    uint32_t n;
    uint32_t bits;
    uint32_t *attention;
    uint64_t interval_ns;
    long parent;
    pid_t pid;
    struct proc_status status;
    struct ticker_sample samples[TICKER_SAMPLES];
    _Alignas(16) uint8_t stack[STACK_BYTES];
};

static uint64_t now_ns(void)
{
    struct timespec now;
    raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Both sides only hold it for a copy; what whoever comes second misses is dropped: see `turn`. */
static bool try_lock(struct ticker *ticker)
{
    return __atomic_exchange_n(&ticker->lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static void unlock(struct ticker *ticker)
{
    __atomic_store_n(&ticker->lock, 0, __ATOMIC_RELEASE);
}

static uint64_t size_of(const struct ticker_sample *sample)
{
    return sample->resident.anonymous + sample->resident.file + sample->resident.shared;
}

/* Makes room: of two neighbours the larger one stays. */
static void thin_out(struct ticker *ticker)
{
    for (uint32_t i = 0; i < ticker->n / 2; i++) {
        const struct ticker_sample *a = &ticker->samples[2 * i], *b = a + 1;
        ticker->samples[i] = size_of(b) > size_of(a) ? *b : *a;
    }
    ticker->n /= 2;
}

/* The size in the first line of a process's statm, in pages; 0 = not known. */
static uint64_t pages_of(const char *path)
{
    char text[64];
    uint64_t pages = 0;
    long fd = raw_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY, 0), n;
    if (fd < 0)
        return 0;
    n = raw_syscall(SYS_read, fd, (long)text, sizeof text, 0);
    raw_syscall(SYS_close, fd, 0, 0, 0);
    for (long i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        pages = pages * 10 + (uint64_t)(text[i] - '0');
    return pages;
}

/*
 * Whether the parent has become another program by a call that we did not see: then this memory is
 * ours alone. It may grow between two looks, but not twice and by the same.
 */
static bool parent_has_left(const struct ticker *ticker)
{
    char path[32] = "/proc/";
    char digits[20];
    unsigned n = 0, at = 6;
    for (long left = ticker->parent; left != 0; left /= 10)
        digits[n++] = (char)('0' + left % 10);
    while (n > 0)
        path[at++] = digits[--n];
    for (const char *name = "/statm"; *name != '\0'; name++)
        path[at++] = *name;
    path[at] = '\0';
    for (int i = 0; i < 8; i++) {
        const uint64_t ours = pages_of("/proc/self/statm"), theirs = pages_of(path);
        if (ours == theirs || ours == 0 || theirs == 0)
            return false;
    }
    return true;
}

static void tick(struct ticker *ticker)
{
    struct ticker_sample sample = {.turn = __atomic_load_n(&ticker->turn, __ATOMIC_SEQ_CST)};
    sample.mono_ns = now_ns();
    __atomic_fetch_or(ticker->attention, ticker->bits, __ATOMIC_SEQ_CST);
    if (!proc_status_read(&ticker->status, false, &sample.resident) || !try_lock(ticker))
        return;
    if (ticker->n != 0 && ticker->samples[0].turn != sample.turn)
        ticker->n = 0;
    if (ticker->n == TICKER_SAMPLES)
        thin_out(ticker);
    if (sample.turn == __atomic_load_n(&ticker->turn, __ATOMIC_SEQ_CST))
        ticker->samples[ticker->n++] = sample;
    unlock(ticker);
}

/* The descriptors are copies of the program's: a pipe would never end. */
static int run(void *data)
{
    struct ticker *ticker = data;
    const struct timespec interval = {.tv_sec = (time_t)(ticker->interval_ns / 1000000000u),
                                      .tv_nsec = (long)(ticker->interval_ns % 1000000000u)};
    uint32_t n_ticks = 0;
    if (raw_syscall(SYS_close_range, 0, UINT32_MAX, 0, 0) < 0) {
        for (long fd = 0; fd < 65536; fd++)
            raw_syscall(SYS_close, fd, 0, 0, 0);
    }
    raw_syscall(SYS_prctl, PR_SET_NAME, (long)"memtrace", 0, 0);
    while (__atomic_load_n(&ticker->stop, __ATOMIC_ACQUIRE) == 0 &&
           raw_syscall(SYS_getppid, 0, 0, 0, 0) == ticker->parent) {
        raw_syscall(SYS_futex, (long)&ticker->stop, FUTEX_WAIT, 0, (long)&interval);
        tick(ticker);
        if (++n_ticks % LOOK_FOR_PARENT == 0 && parent_has_left(ticker))
            break;
    }
    raw_syscall(SYS_exit, 0, 0, 0, 0);
    return 0;
}

struct ticker *ticker_start(uint64_t interval_ns, uint32_t *attention, uint32_t bits)
{
    struct ticker *ticker = HAS_RAW_SYSCALLS ? pages_alloc(sizeof *ticker) : NULL;
    sigset_t before;
    int saved = errno;
    if (ticker == NULL)
        return NULL;
    ticker->attention = attention;
    ticker->bits = bits;
    ticker->interval_ns = interval_ns;
    ticker->status.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    ticker->parent = getpid();
    signals_block(&before); /* it has no use for the program's handlers */
    ticker->pid = clone(run, ticker->stack + STACK_BYTES, CLONE_VM | CLONE_UNTRACED, ticker);
    signals_allow(&before);
    errno = saved;
    if (ticker->pid > 0)
        return ticker;
    pages_free(ticker, sizeof *ticker);
    return NULL;
}

void ticker_stop(struct ticker *ticker)
{
    int saved = errno;
    pid_t ended;
    if (ticker == NULL)
        return;
    __atomic_store_n(&ticker->stop, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &ticker->stop, FUTEX_WAKE, 1, NULL, NULL, 0);
    do
        ended = waitpid(ticker->pid, NULL, __WCLONE);
    while (ended < 0 && errno == EINTR);
    /* Somebody else may have waited for it; its stack is in there. */
    if (ended == ticker->pid)
        pages_free(ticker, sizeof *ticker);
    errno = saved;
}

size_t ticker_take(struct ticker *ticker, struct ticker_sample samples[TICKER_SAMPLES])
{
    const uint32_t turn = __atomic_fetch_add(&ticker->turn, 1, __ATOMIC_SEQ_CST);
    size_t n = 0;
    if (!try_lock(ticker))
        return 0;
    for (size_t i = 0; i < ticker->n; i++) {
        if (ticker->samples[i].turn == turn)
            samples[n++] = ticker->samples[i];
    }
    ticker->n = 0;
    unlock(ticker);
    return n;
}
