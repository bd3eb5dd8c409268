/* sample_reach.c - see sample_reach.h; and the program's own use of signals, see sample.h. */
#include "lines/sample_reach.h"

#define CHECK_NS 50000000u /* of CPU time */

bool reach_is_blocked_here(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 &&
           (wake_signal() == 0 || sigismember(&blocked, wake_signal()) == 1);
}

/* Who charges the thread goes on where the other one has stopped. No clock of it is running. */
static void set_unheard(struct sample_thread *thread, bool is_unheard)
{
    if (thread->is_unheard == is_unheard)
        return;
    if (is_unheard)
        thread->look.cpu_ns = thread->meter.cpu_ns;
    else
        thread->meter.cpu_ns = thread->look.cpu_ns;
    __atomic_store_n(&thread->is_unheard, is_unheard, __ATOMIC_RELEASE);
}

void reach_arm(struct sample_thread *thread, bool is_blocked)
{
    wake_disarm(&thread->wake);
    __atomic_store_n(&thread->period_ns, 0, __ATOMIC_RELAXED);
    thread->period_seen_ns = 0; /* no signal of an event is to be expected */
    set_unheard(thread, is_blocked);
    if (!is_blocked && wake_has_ticks())
        wake_arm_ticks(&thread->wake, thread->tid);
    if (!is_blocked && !wake_has_perf() && !thread->wake.has_timer)
        set_unheard(thread, true);
}

void reach_lost(struct sample_thread *thread)
{
    set_unheard(thread, true);
}

void reach_watch(struct sample_thread *thread, uint64_t cpu_ns)
{
    struct sample_look *look = &thread->look;
    uint32_t n_handled = __atomic_load_n(&thread->n_handled, __ATOMIC_RELAXED);
    bool is_silent = n_handled == look->mask_handled, is_blocked;
    if (cpu_ns - look->mask_cpu_ns < CHECK_NS)
        return;
    look->mask_cpu_ns = cpu_ns;
    look->mask_handled = n_handled;
    if (!is_silent)
        return;
    is_blocked = wake_is_blocked(thread->tid);
    if (is_blocked != thread->is_unheard)
        reach_arm(thread, is_blocked);
}

void reach_arm_all(void)
{
    for (struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        sample_lock(thread);
        if (__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE) == THREAD_ALIVE)
            reach_arm(thread, wake_is_blocked(thread->tid));
        sample_unlock(thread);
    }
}

/* ---- the program's own signals -------------------------------------------------------------- */

void sample_spare_signal(int number)
{
    if (__atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE) && wake_spare_signal(number))
        reach_arm_all();
}

void sample_mask_changes(void)
{
    struct sample_thread *self = sample_self;
    if (self == NULL)
        return;
    sample_lock(self);
    reach_arm(self, true);
    sample_unlock(self);
}

void sample_mask_changed(void)
{
    struct sample_thread *self = sample_self;
    if (self == NULL || !__atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE))
        return;
    sample_lock(self);
    reach_arm(self, reach_is_blocked_here());
    sample_unlock(self);
}
