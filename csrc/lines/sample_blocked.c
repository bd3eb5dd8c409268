/*
 * sample_blocked.c - the helper thread: looks at the threads that do not run, and sets the pace of
 * the others.
 *
 * A thread whose CPU clock stands still did not run in between, so that what was read of it
 * meanwhile is consistent. The times between looks are random, with a distribution that has no
 * memory: then a look stands for the mean of the time that it was drawn from, however that mean was
 * chosen, and no pattern of the thread's own makes a difference. How long the thread was blocked
 * altogether is known exactly (wall clock minus CPU clock, minus what it waited for a processor),
 * and corrects all of its weights. Waiting for a processor is no matter of the line: that time goes
 * to all samples of the time in question alike.
 */
#include "lines/sample_cost.h"
#include "lines/sample_reach.h"
#include "lines/sample_thread.h"

#include "base/ticks.h"
#include "interp/objects.h"
#include "lines/sample_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1) /* linux/close_range.h, of Linux 5.9 */
#endif

#define STACK_BYTES ((size_t)128 << 10)
#define LOOK_SHORTEST_NS 1000000u
#define LOOK_LONGEST_NS 4000000u    /* between looks at a thread that runs */
#define PARKED_LONGEST_NS 20000000u /* at one that has not run for long */
#define CORRECTED_AFTER_NS 20000000u
#define SAMPLES_PER_EVENT 64u /* then the next perf event has another period */
#define FIRST_EVENT_NS 500000u
#define NEXT_TRY_NS 20000000u   /* there are too many of them, or of descriptors */
#define DELAY_CHECK_NS 5000000u /* of CPU time */
#define DELAY_MOST 1000u
#define HOUSEKEEPING_NS 20000000u
#define SETTLE_MOST_NS 50000000u

static pthread_t helper;
static bool has_helper;
static pid_t helper_tid;           /* written by itself */
static uint32_t is_wanted;         /* futex */
static uint32_t is_settled;        /* atomic: it writes no more */
static struct sample_tally *tally; /* owned; lives on in the list of all */
static uint32_t n_alive;           /* threads at the last round */
static uint64_t noise = 0x9e3779b97f4a7c15ull;
static uint64_t objects_next_ns, objects_wait_ns;

/* ---- one thread ----------------------------------------------------------------------------- */

/* The innermost frame of a thread, through its thread state; 0 when there is none. */
static uintptr_t top_of(struct sample_thread *thread)
{
    const struct interp_layout *layout = &sample_host.frames->layout;
    uintptr_t state = __atomic_load_n(&thread->state, __ATOMIC_RELAXED);
    uintptr_t frame;
    peek_forget(&thread->look.walk.peek);
    if (state == 0 || !peek_word(&thread->look.walk.peek, state + layout->state_frame, &frame))
        return 0;
    if (layout->frame_is_indirect && frame != 0 &&
        !peek_word(&thread->look.walk.peek, frame, &frame))
        return 0;
    return frame;
}

/* What is not known of the time that it was blocked, over what the looks make of that. */
static double correction(const struct sample_look *look)
{
    uint64_t off = look->off_ns > look->known_ns ? look->off_ns - look->known_ns : 0;
    return look->weighed_ns < CORRECTED_AFTER_NS ? 1.0 : (double)off / (double)look->weighed_ns;
}

/* A wait goes to where it was. */
static void charge(struct sample_look *look, struct park_charge part)
{
    look->known_ns += part.known_ns;
    look->weighed_ns += part.guess_ns;
    if (look->walk.n == 0)
        return;
    if (part.known_ns != 0)
        tally_add_known(tally, look->walk.places, look->walk.n, &look->clock,
                        sample_ticks(part.known_ns));
    if (part.guess_ns != 0)
        tally_add(tally, look->walk.places, look->walk.n, &look->clock,
                  (uint64_t)((double)sample_ticks(part.guess_ns) * correction(look)));
}

/* Reads where the thread is. False: it ran meanwhile, or is only waiting for a processor. */
static bool find_place(struct sample_thread *thread, uint64_t cpu_ns)
{
    struct sample_look *look = &thread->look;
    if (!walk_chain(&look->walk, top_of(thread)))
        look->walk.n = 0;
    sample_find_clock(thread->account, &look->clock);
    return !state_is_runnable(thread->tid) && sample_cpu_ns(thread->tid) == cpu_ns;
}

/* What happened since the last look that found the thread running, or another wait. */
static struct park_gap measure_gap(struct sample_thread *thread, uint64_t now, uint64_t cpu_ns)
{
    struct sample_look *look = &thread->look;
    uint64_t delay_ns = state_delay_ns(thread->tid), n_waits = state_n_waits(thread->tid);
    uint64_t wall = now - look->start_ns, able, off;
    struct park_gap gap = {.n_waits = n_waits - look->n_waits};
    if (delay_ns > look->delay_ns)
        look->delay_ns = delay_ns;
    able = cpu_ns - look->start_cpu_ns + look->delay_ns - look->start_delay_ns;
    off = wall > able ? wall - able : 0;
    gap.off_ns = off > look->off_ns ? off - look->off_ns : 0;
    gap.is_shared = n_waits == UINT64_MAX;
    look->off_ns = off;
    look->n_waits = n_waits;
    return gap;
}

/* How long it had to wait for a processor lately: its samples stand for that time too. */
static void set_stretch(struct sample_thread *thread, uint64_t cpu_ns)
{
    struct sample_look *look = &thread->look;
    uint64_t ran = cpu_ns - look->delay_cpu_ns;
    uint64_t delay = look->delay_ns - look->stretch_delay_ns;
    if (ran < DELAY_CHECK_NS)
        return;
    delay = delay > ran * DELAY_MOST ? ran * DELAY_MOST : delay;
    __atomic_store_n(&thread->stretch, (uint32_t)(((ran + delay) << STRETCH_SHIFT) / ran),
                     __ATOMIC_RELAXED);
    look->stretch_delay_ns = look->delay_ns;
    look->delay_cpu_ns = cpu_ns;
}

static uint64_t shortest_mean(void)
{
    return LOOK_SHORTEST_NS * (1 + n_alive / 4);
}

/*
 * How long to wait on average: a thread that comes and goes is looked at often, one that only runs
 * or has not run for long, seldom.
 */
static uint64_t next_mean(const struct sample_look *look, uint64_t now)
{
    uint64_t shortest = shortest_mean();
    uint64_t mean = look->mean_ns + look->mean_ns / 4, longest = LOOK_LONGEST_NS;
    if (look->park.n_looks != 0) {
        mean = (now - look->park.first_ns) / 16;
        longest = PARKED_LONGEST_NS;
    }
    longest *= 1 + n_alive / 16; /* the helper has to do with a hundredth of a processor */
    mean = mean > longest ? longest : mean;
    return mean < shortest ? shortest : mean;
}

/* How much CPU time a thread without a perf event uses until it gets one, or it is tried again. */
static uint64_t event_wait_ns(const struct sample_thread *thread)
{
    bool is_new = thread->look.pace_cpu_ns == thread->start_cpu_ns;
    if (is_new)
        return wake_has_ticks() ? FIRST_EVENT_NS : 0; /* short threads are left to the ticks */
    return NEXT_TRY_NS;
}

static bool is_due_for_event(const struct sample_thread *thread, uint64_t cpu_ns)
{
    uint32_t n_handled = __atomic_load_n(&thread->n_handled, __ATOMIC_RELAXED);
    if (thread->period_ns != 0)
        return n_handled - thread->look.n_handled >= SAMPLES_PER_EVENT;
    return cpu_ns - thread->look.pace_cpu_ns >= event_wait_ns(thread);
}

/* Of the samples since the last time: how many found hot code. All, while there are none. */
static double find_hot_part(struct sample_thread *thread)
{
    uint64_t n_hot = thread->tally.samples + thread->tally.discarded;
    uint64_t n_all = n_hot + thread->tally.elsewhere;
    uint64_t hot = n_hot - thread->look.n_hot, all = n_all - thread->look.n_all;
    thread->look.n_hot = n_hot;
    thread->look.n_all = n_all;
    return all == 0 || hot > all ? 1 : (double)hot / (double)all;
}

/* Another period, for the pace and at random. */
static void arm_event(struct sample_thread *thread, uint64_t cpu_ns)
{
    uint32_t n_handled = __atomic_load_n(&thread->n_handled, __ATOMIC_RELAXED);
    uint64_t cost_ns, period;
    thread->look.n_handled = n_handled;
    thread->look.pace_cpu_ns = cpu_ns;
    cost_ns = n_handled != 0 ? thread->cost_ns / n_handled : sample_delivery_ns;
    period = meter_random_ns(&noise, meter_period_ns(n_handled, cost_ns, find_hot_part(thread)));
    if (wake_arm_perf(&thread->wake, thread->tid, period) < 0) {
        if (thread->period_ns == 0 && !thread->wake.has_timer)
            reach_lost(thread);
        return;
    }
    __atomic_store_n(&thread->period_ns, period, __ATOMIC_RELAXED);
    __atomic_fetch_add(&thread->n_armed, 1, __ATOMIC_RELEASE);
    if (!__atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE))
        wake_disarm(&thread->wake);
}

/* Gives a running thread a new perf event now and then. */
static void set_pace(struct sample_thread *thread, uint64_t cpu_ns)
{
    if (wake_has_perf() && !thread->is_unheard && is_due_for_event(thread, cpu_ns))
        arm_event(thread, cpu_ns);
}

void helper_pace_first(struct sample_thread *thread)
{
    noise = (noise ^ mono_now_ns()) | 1; /* no two runs alike */
    if (wake_has_perf() && !thread->is_unheard)
        arm_event(thread, sample_cpu_ns(thread->tid));
}

/*
 * A thread that no signal reaches cannot be asked where it is: it is looked at while it runs. What
 * is read may be torn (then nothing is charged) or a moment old, and instrumentation is only told
 * apart inside the callbacks.
 */
static void charge_running(struct sample_thread *thread, uint64_t cpu_ns)
{
    struct sample_look *look = &thread->look;
    uint64_t ns = cpu_ns > look->cpu_ns ? cpu_ns - look->cpu_ns : 0;
    if (!walk_chain(&look->walk, top_of(thread))) {
        tally->torn++;
        return;
    }
    tally_pass(tally, sample_ticks(sample_stretch(thread, ns)));
    if (sample_is_tracing(&look->walk.peek, __atomic_load_n(&thread->state, __ATOMIC_RELAXED)))
        tally_discard(tally, look->walk.places, look->walk.n, &(struct sample_clock){0},
                      sample_ticks(ns));
    else if (look->walk.n != 0)
        tally_add(tally, look->walk.places, look->walk.n, &(struct sample_clock){0},
                  sample_ticks(sample_stretch(thread, ns)));
}

/* The thread ran since the last look, or is looked at for the first time. */
static void look_at_change(struct sample_thread *thread, uint64_t now, uint64_t cpu_ns)
{
    struct sample_look *look = &thread->look;
    struct park_gap gap = measure_gap(thread, now, cpu_ns);
    uint64_t mean_ns = look->mean_ns;
    bool is_waiting;
    reach_watch(thread, cpu_ns);
    set_stretch(thread, cpu_ns);
    if (look->park.n_looks != 0) {
        gap.is_shared |= !state_is_runnable(thread->tid); /* it waits for something else now */
        charge(look, park_end(&look->park, mean_ns, &gap));
    }
    if (thread->is_unheard)
        charge_running(thread, cpu_ns);
    look->cpu_ns = cpu_ns;
    is_waiting = find_place(thread, cpu_ns);
    set_pace(thread, cpu_ns);
    if (is_waiting)
        park_begin(&look->park, now, mean_ns, shortest_mean(), &gap);
}

static void look_at_thread(struct sample_thread *thread, uint64_t now)
{
    struct sample_look *look = &thread->look;
    uint64_t cpu_ns = sample_cpu_ns(thread->tid);
    if (cpu_ns == 0)
        return; /* it has ended and will say so */
    if (look->park.n_looks != 0 && cpu_ns == look->cpu_ns) {
        look->off_ns += now - look->park.last_ns;
        charge(look, park_again(&look->park, now));
    } else {
        look_at_change(thread, now, cpu_ns);
    }
    look->mean_ns = next_mean(look, now);
    look->next_ns = now + meter_wait_ns(&noise, look->mean_ns);
}

/* Nobody looks at it any more: what is known of its wait is charged. */
static void settle(struct sample_thread *thread, uint64_t now)
{
    struct sample_look *look = &thread->look;
    uint64_t cpu_ns = sample_cpu_ns(thread->tid);
    struct park_gap gap;
    if (look->park.n_looks == 0)
        return;
    if (cpu_ns == look->cpu_ns) {
        look->off_ns += now - look->park.last_ns;
        charge(look, park_again(&look->park, now));
        look->park.n_looks = 0;
    } else if (cpu_ns == 0) {
        charge(look, park_end(&look->park, look->mean_ns, NULL));
    } else {
        gap = measure_gap(thread, now, cpu_ns);
        charge(look, park_end(&look->park, look->mean_ns, &gap));
    }
}

/* ---- the rounds ----------------------------------------------------------------------------- */

/* Code that no list knew may have been loaded since, or been compiled in memory: then never. */
static void update_objects(uint64_t now)
{
    if (!unwind_is_outdated() || now < objects_next_ns)
        return;
    objects_wait_ns = objects_wait_ns == 0 ? 50000000u : objects_wait_ns * 2;
    objects_next_ns = now + objects_wait_ns;
    (void)!unwind_read_objects();
}

static void settle_all(void)
{
    for (struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        if (__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE) != THREAD_ALIVE)
            continue;
        sample_lock(thread);
        settle(thread, mono_now_ns());
        sample_unlock(thread);
    }
}

/* Returns when to look next. */
static uint64_t look_at_all(void)
{
    uint64_t next = UINT64_MAX;
    uint32_t n = 0;
    for (struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        uint32_t life = __atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE);
        uint64_t now;
        if (life == THREAD_ENDED) {
            charge(&thread->look, park_end(&thread->look.park, 0, NULL));
            sample_bury(thread);
        }
        if (life != THREAD_ALIVE)
            continue;
        sample_lock(thread);
        now = mono_now_ns();
        n++;
        if (thread->look.next_ns <= now)
            look_at_thread(thread, now);
        next = thread->look.next_ns < next ? thread->look.next_ns : next;
        sample_unlock(thread);
    }
    n_alive = n;
    return next;
}

static void wait_until(uint64_t then)
{
    uint64_t now = mono_now_ns();
    uint64_t ns = then > now ? then - now : 0;
    uint64_t least = LOOK_SHORTEST_NS / 4 * (1 + n_alive / 8); /* threads share a wake-up */
    struct timespec timeout;
    if (ns < least)
        ns = least;
    if (ns > HOUSEKEEPING_NS)
        ns = HOUSEKEEPING_NS;
    timeout = (struct timespec){.tv_nsec = (long)ns};
    syscall(SYS_futex, &is_wanted, FUTEX_WAIT_PRIVATE, 1, &timeout, NULL, 0);
}

/*
 * What this thread opens (files of /proc, perf events) has numbers of its own, where the system can
 * do that: the program's next file gets the lowest number that is free, as without us, and what it
 * closes is not ours.
 */
static void leave_descriptors(void)
{
#ifdef SYS_close_range
    (void)!syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE);
#endif
}

static void *help(void *unused)
{
    uint64_t housekeeping = 0;
    prctl(PR_SET_NAME, "lprof");
    leave_descriptors();
    helper_tid = (pid_t)syscall(SYS_gettid);
    while (__atomic_load_n(&is_wanted, __ATOMIC_ACQUIRE)) {
        uint64_t now = mono_now_ns();
        if (now >= housekeeping) {
            housekeeping = now + HOUSEKEEPING_NS;
            if (wake_signal_moved())
                reach_arm_all();
            update_objects(now);
        }
        wait_until(look_at_all());
    }
    settle_all();
    __atomic_store_n(&is_settled, 1, __ATOMIC_RELEASE);
    return unused;
}

int helper_start(void)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (has_helper)
        return 0;
    if (tally == NULL) {
        tally = pages_alloc(sizeof *tally);
        if (tally == NULL)
            return -1;
        tally_publish(tally);
    }
    if (pthread_attr_init(&attributes) != 0)
        return -1;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    __atomic_store_n(&is_wanted, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&is_settled, 0, __ATOMIC_RELEASE);
    has_helper = pthread_create(&helper, &attributes, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return has_helper ? 0 : -1;
}

/*
 * In an ending process it may be that it cannot go on: then the last wait is not charged. While it
 * looks at it this thread must not begin another one, if that can be helped.
 */
static void wait_until_settled(void)
{
    uint64_t start_ns = mono_now_ns(), passed_ns = 0;
    while (!__atomic_load_n(&is_settled, __ATOMIC_ACQUIRE) && passed_ns < SETTLE_MOST_NS) {
        if (passed_ns < SETTLE_MOST_NS / 10)
            sched_yield();
        else
            usleep(500);
        passed_ns = mono_now_ns() - start_ns;
    }
}

void helper_stop(bool wait)
{
    __atomic_store_n(&is_wanted, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &is_wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (has_helper)
        wait_until_settled();
    if (wait && has_helper) {
        pthread_join(helper, NULL);
        has_helper = false;
        /* Joined is not gone: os.fork counts what the kernel has. */
        for (int i = 0; i < 1000 && syscall(SYS_tgkill, getpid(), helper_tid, 0) == 0; i++)
            sched_yield();
    }
}

void helper_after_fork(void)
{
    is_wanted = 0;
    has_helper = false;
    tally = NULL;
}
