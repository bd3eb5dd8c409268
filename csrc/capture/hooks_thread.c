/*
 * hooks_thread.c - threads that Python starts: the name of threading.Thread goes with them, as the
 * kernel's name does not before 3.14 and has room for 15 characters after.
 */
#include "base/arena.h" /* pages */
#include "capture/guard.h"
#include "capture/real.h"
#include "capture/recorder.h"
#include "capture/state.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

typedef void *(*thread_fn)(void *);

/* What the new thread is given. */
struct start {
    uint32_t taken; /* atomic */
    thread_fn run;
    void *argument;
    char name[THREAD_NAME_BYTES];
};

/*
 * One for each thread that has not begun to run yet; if there are more, they get pages of their
 * own. Pages that come and go cost a thread more than all else that is done for it here: every
 * processor has to be told.
 */
#define STARTS 32u
static struct start starts[STARTS];

static struct start *take_start(void)
{
    for (unsigned i = 0; i < STARTS; i++) {
        if (__atomic_exchange_n(&starts[i].taken, 1, __ATOMIC_ACQUIRE) == 0)
            return &starts[i];
    }
    return pages_alloc(sizeof(struct start));
}

static void give_back(struct start *start)
{
    if (start >= starts && start < starts + STARTS)
        __atomic_store_n(&start->taken, 0, __ATOMIC_RELEASE);
    else
        pages_free(start, sizeof *start);
}

/* The call is the last thing done, so that no frame of ours stays below the thread's own. */
static void *run_named(void *data)
{
    struct start *start = data;
    thread_fn run = start->run;
    void *argument = start->argument;
    memcpy(thread_given_name, start->name, sizeof thread_given_name);
    give_back(start);
    return run(argument);
}

/* NULL: it is no thread of Python's, or there is no memory. */
static struct start *named_start(thread_fn run, void *argument)
{
    bool (*name_of)(char *, size_t) = capture.reader.binding.starting_thread;
    char name[THREAD_NAME_BYTES] = {0};
    struct start *start = NULL;
    int saved = errno;
    if (!guard_enter())
        return NULL;
    if (name_of != NULL && name_of(name, sizeof name) && (start = take_start()) != NULL) {
        start->run = run;
        start->argument = argument;
        memcpy(start->name, name, sizeof name);
    }
    guard_leave();
    errno = saved;
    return start;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_fn run,
                          void *argument)
{
    struct start *start;
    int error;
    if (real.pthread_create == NULL && !(real_resolve() && real.pthread_create != NULL))
        return EAGAIN;
    start = named_start(run, argument);
    if (start == NULL)
        return real.pthread_create(thread, attributes, run, argument);
    error = real.pthread_create(thread, attributes, run_named, start);
    if (error != 0)
        give_back(start);
    return error;
}
