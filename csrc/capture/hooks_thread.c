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

/* What the new thread is given, in pages of its own. */
struct start {
    thread_fn run;
    void *argument;
    char name[THREAD_NAME_BYTES];
};

/* The call is the last thing done, so that no frame of ours stays below the thread's own. */
static void *run_named(void *data)
{
    struct start *start = data;
    thread_fn run = start->run;
    void *argument = start->argument;
    memcpy(thread_given_name, start->name, sizeof thread_given_name);
    pages_free(start, sizeof *start);
    return run(argument);
}

/* NULL: it is no thread of Python's, or there is no memory. */
static struct start *named_start(thread_fn run, void *argument)
{
    bool (*name_of)(char *, size_t) = capture.reader.binding.starting_thread;
    struct start start = {.run = run, .argument = argument};
    struct start *kept = NULL;
    int saved = errno;
    if (!guard_enter())
        return NULL;
    if (name_of != NULL && name_of(start.name, sizeof start.name)) {
        kept = pages_alloc(sizeof *kept);
        if (kept != NULL)
            *kept = start;
    }
    guard_leave();
    errno = saved;
    return kept;
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
        pages_free(start, sizeof *start);
    return error;
}
