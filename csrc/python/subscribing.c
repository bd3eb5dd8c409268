/* subscribing.c - see subscribing.h. */
#include "python/subscribing.h"

#include "python/monitor.h"
#include "python/newcomers.h"

#include <pthread.h>

/* Held while the interpreter stops all threads: who waits for it has to let itself be stopped. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void enter(void)
{
    if (pthread_mutex_trylock(&lock) == 0)
        return;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&lock);
    Py_END_ALLOW_THREADS
}

int subscribing_complete(struct lines_code *code)
{
    int result = 0;
    if (subscribing_is_complete(code))
        return 0;
    enter();
    if (!subscribing_is_complete(code) && monitor_is_on())
        result = monitor_subscribe((PyCodeObject *)code->key);
    if (result == 0)
        __atomic_store_n(&code->is_complete, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return result;
}

int subscribing_await_start(PyCodeObject *code)
{
    int result = 0;
    enter();
    if (registry_find(code) == NULL) {
        if (newcomers_were_dismissed((PyObject *)code))
            result = newcomers_recall();
        if (result == 0)
            result = monitor_subscribe_local(code, MONITOR_START);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

void subscribing_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
