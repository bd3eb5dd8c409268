/*
 * interposer.c - logs every call of the allocator and of mmap to a plain file, one record a call,
 * written at once. It knows nothing of the project: the tests compare captures with it.
 *
 * Record: u64 image (when this program was loaded), order, u32 thread, what, u64 address, size. The
 * order number is taken before a block goes and after one comes. The file is in INTERPOSER_LOG.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#undef mmap64

enum what {
    MALLOC = 1,
    FREE = 2,
    CALLOC = 3,
    REALLOC = 4,
    POSIX_MEMALIGN = 5,
    ALIGNED_ALLOC = 6,
    MEMALIGN = 7,
    VALLOC = 8,
    PVALLOC = 9,
    MMAP = 10,
    MUNMAP = 11,
    FAILED = 16
};

struct record {
    uint64_t image, order;
    uint32_t thread, what;
    uint64_t address, size;
};

static int log_fd = -1;
/* Not 0 in what a call makes of itself (reallocarray of realloc): that is no call of its own. */
static __thread int inside;
static uint64_t image, last_order;

static uint64_t next_order(void)
{
    return __atomic_add_fetch(&last_order, 1, __ATOMIC_SEQ_CST);
}

static void note(uint64_t order, enum what what, const void *address, uint64_t size)
{
    struct record record = {image, order, (uint32_t)syscall(SYS_gettid), what, (uintptr_t)address,
                            size};
    int saved = errno;
    if (inside == 0 && log_fd >= 0 &&
        syscall(SYS_write, log_fd, &record, sizeof record) != sizeof record)
        abort();
    errno = saved;
}

__attribute__((constructor)) static void open_log(void)
{
    const char *path = getenv("INTERPOSER_LOG");
    struct timespec now;
    int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    clock_gettime(CLOCK_MONOTONIC, &now);
    image = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (fd >= 0) {
        log_fd = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
        syscall(SYS_close, fd);
    }
}

/* dlsym itself calls calloc before there is one. */
static char early[4096] __attribute__((aligned(16)));
static size_t early_used;

static void *find(const char *name)
{
    static __thread int finding;
    void *found;
    if (finding)
        return NULL;
    finding = 1;
    found = dlsym(RTLD_NEXT, name);
    finding = 0;
    return found;
}

#define REAL(name_)                 \
    static __typeof__(&name_) real; \
    if (real == NULL)               \
    real = (__typeof__(&name_))(uintptr_t)find(#name_)

static int is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < sizeof early;
}

void *malloc(size_t size)
{
    REAL(malloc);
    void *block = real(size);
    if (block != NULL)
        note(next_order(), MALLOC, block, size);
    return block;
}

void *calloc(size_t n, size_t size)
{
    REAL(calloc);
    void *block;
    if (real == NULL) {
        block = early + early_used;
        early_used += (n * size + 15) & ~(size_t)15;
        return early_used > sizeof early ? NULL : block;
    }
    block = real(n, size);
    if (block != NULL)
        note(next_order(), CALLOC, block, n * size);
    return block;
}

void free(void *block)
{
    REAL(free);
    if (block == NULL || is_early(block))
        return;
    note(next_order(), FREE, block, 0);
    real(block);
}

static void note_resized(void *old, void *block, size_t size)
{
    if (block != NULL)
        note(next_order(), REALLOC, block, size);
    else if (old != NULL && size != 0)
        note(next_order(), FAILED, old, 0);
}

void *realloc(void *old, size_t size)
{
    REAL(realloc);
    void *block;
    if (old != NULL)
        note(next_order(), FREE, old, 0);
    block = real(old, size);
    note_resized(old, block, size);
    return block;
}

void *reallocarray(void *old, size_t n, size_t size)
{
    REAL(reallocarray);
    void *block;
    if (old != NULL)
        note(next_order(), FREE, old, 0);
    inside++;
    block = real(old, n, size);
    inside--;
    note_resized(old, block, block == NULL ? 1 : n * size);
    return block;
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    REAL(posix_memalign);
    inside++;
    int error = real(out, alignment, size);
    inside--;
    if (error == 0)
        note(next_order(), POSIX_MEMALIGN, *out, size);
    return error;
}

#define PLAIN(name_, what_, parameters_, arguments_) \
    void *name_ parameters_                          \
    {                                                \
        REAL(name_);                                 \
        inside++;                                    \
        void *block = real arguments_;               \
        inside--;                                    \
        if (block != NULL)                           \
            note(next_order(), what_, block, size);  \
        return block;                                \
    }
void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);
PLAIN(aligned_alloc, ALIGNED_ALLOC, (size_t alignment, size_t size), (alignment, size))
PLAIN(memalign, MEMALIGN, (size_t alignment, size_t size), (alignment, size))
PLAIN(valloc, VALLOC, (size_t size), (size))
PLAIN(pvalloc, PVALLOC, (size_t size), (size))

#define MAPPING(name_, offset_)                                                     \
    void *name_(void *at, size_t size, int prot, int flags, int fd, offset_ offset) \
    {                                                                               \
        REAL(name_);                                                                \
        void *range = real(at, size, prot, flags, fd, offset);                      \
        if (range != MAP_FAILED && (fd < 0 || (flags & MAP_ANONYMOUS)))             \
            note(next_order(), MMAP, range, size);                                  \
        return range;                                                               \
    }
MAPPING(mmap, off_t)
MAPPING(mmap64, off64_t)

int munmap(void *at, size_t size)
{
    REAL(munmap);
    note(next_order(), MUNMAP, at, size);
    return real(at, size);
}
