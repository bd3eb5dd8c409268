/* Allocations in a signal handler, and in a thread that knows nothing of Python. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static void *volatile kept;

static void handler(int number)
{
    (void)number;
    kept = malloc(3000003); /* HANDLER */
}

__attribute__((noinline)) void interrupted(void)
{
    raise(SIGUSR1); /* RAISE */
    kept = 0;
}

void in_handler(void)
{
    signal(SIGUSR1, handler);
    interrupted();
    signal(SIGUSR1, SIG_DFL);
}

static __attribute__((noinline)) void *work(void *unused)
{
    kept = malloc(4000004); /* THREAD */
    return unused;
}

void in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
}
