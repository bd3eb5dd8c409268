/* sample_rest.c - see sample.h: sampling stops for a while, and goes on. */
#include "lines/sample_rest.h"

#include "base/ticks.h"
#include "lines/sample.h"
#include "lines/sample_reach.h"
#include "lines/sample_state.h"

static bool is_resting;

void sample_rest(void)
{
    if (!__atomic_exchange_n(&sample_is_running, 0, __ATOMIC_ACQ_REL))
        return;
    is_resting = true;
    helper_stop(true);
    for (struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        if (__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE) != THREAD_ALIVE)
            continue;
        sample_lock(thread);
        wake_disarm(&thread->wake);
        meter_hand_over(&thread->meter, sample_cpu_ns(thread->tid), 0);
        sample_unlock(thread);
    }
    wake_rest();
}

void sample_go_on(void)
{
    if (!is_resting)
        return;
    is_resting = false;
    if (wake_signal() == 0)
        (void)!wake_signal_moved(); /* without one the helper looks at the threads */
    for (struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        uint64_t cpu_ns = sample_cpu_ns(thread->tid);
        if (__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE) != THREAD_ALIVE)
            continue;
        sample_lock(thread);
        meter_hand_over(&thread->meter, 0, cpu_ns);
        sample_look_anew(thread, cpu_ns);
        thread->is_unheard = false;
        sample_unlock(thread);
    }
    __atomic_store_n(&sample_is_running, 1, __ATOMIC_RELEASE);
    reach_arm_all();
    if (helper_start() < 0) /* waits are nobody's then, and threads that end are not buried */
        sample_stop();
}

void sample_rest_after_fork(void)
{
    is_resting = false;
}
