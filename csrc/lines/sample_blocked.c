/*
 * sample_blocked.c - the helper thread: looks at the threads that do not run, and sets the pace of
 * the others.
 *
 * A thread whose CPU clock stands still did not run in between, so that what was read of it
 * meanwhile is consistent. Its time off the CPU is known exactly (wall clock minus CPU clock); the
 * looks only say to which line it belongs. Between two looks of which both find it off the CPU at
 * different places, half of it is taken to belong to each.
 */
#include "lines/sample_thread.h"

#include "base/ticks.h"
#include "interp/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)128 << 10)
#define LOOK_SHORTEST_NS 1000000u
#define LOOK_LONGEST_NS 4000000u
#define PARKED_LONGEST_NS 20000000u /* between looks at a thread that has not run for long */
#define CHARGE_AT_LEAST_NS 10000000u
#define SAMPLES_PER_EVENT 64u /* then the next perf event has another period */
#define FIRST_EVENT_NS 500000u
#define MASKED_AFTER_NS 50000000u
#define HOUSEKEEPING_NS 20000000u

static pthread_t helper;
static bool has_helper;
static uint32_t is_wanted;         /* futex */
static struct sample_tally *tally; /* owned; lives on in the list of all */
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

static void charge(struct sample_look *look, uint64_t ns)
{
    if (ns != 0 && look->walk.n != 0)
        tally_add(tally, look->walk.places, look->walk.n, &look->clock, sample_ticks(ns));
}

/* Reads where the thread is. False: it ran meanwhile, or is at nothing that can be read. */
static bool find_place(struct sample_thread *thread, uint64_t cpu_ns)
{
    struct sample_look *look = &thread->look;
    bool is_whole = walk_chain(&look->walk, top_of(thread));
    sample_find_clock(thread->account, &look->clock);
    return sample_cpu_ns(thread->tid) == cpu_ns && is_whole;
}

/* It ran since the last look; `now` and `cpu_ns` were read together. */
static void look_at_changed(struct sample_thread *thread, uint64_t now, uint64_t cpu_ns)
{
    struct sample_look *look = &thread->look;
    uint64_t wall = now - look->charged_ns, cpu = cpu_ns - look->cpu_ns;
    uint64_t off = wall > cpu ? wall - cpu : 0;
    bool is_off;
    if (look->is_parked) {
        /* Up to the last look it stood there; of what came after, the other end decides. */
        uint64_t certain = look->seen_ns - look->charged_ns;
        uint64_t rest = off > certain ? off - certain : 0;
        charge(look, off - rest + rest / 2);
        off = rest - rest / 2;
    }
    look->off_ns += off;
    is_off = find_place(thread, cpu_ns);
    if (is_off) {
        charge(look, look->off_ns);
        look->off_ns = 0;
    }
    look->is_parked = is_off;
    look->cpu_ns = cpu_ns;
    look->charged_ns = now;
    look->interval_ns = is_off ? LOOK_SHORTEST_NS : look->interval_ns + look->interval_ns / 4;
    if (look->interval_ns > LOOK_LONGEST_NS)
        look->interval_ns = LOOK_LONGEST_NS;
    if (look->interval_ns < LOOK_SHORTEST_NS)
        look->interval_ns = LOOK_SHORTEST_NS;
    look->next_ns = now + meter_random_ns(&noise, look->interval_ns);
}

/* It has not run: nothing is read again, and the longer that goes on, the rarer are the looks. */
static void look_at_parked(struct sample_look *look, uint64_t now)
{
    uint64_t parked = now - look->charged_ns;
    uint64_t wait = (now - look->seen_ns) + (now - look->seen_ns) / 4;
    if (parked >= CHARGE_AT_LEAST_NS) {
        charge(look, parked);
        look->charged_ns = now;
    }
    wait = wait < LOOK_SHORTEST_NS ? LOOK_SHORTEST_NS : wait;
    wait = wait > PARKED_LONGEST_NS ? PARKED_LONGEST_NS : wait;
    look->next_ns = now + meter_random_ns(&noise, wait);
}

/* Gives a running thread a new perf event now and then: another period, for the pace and at random.
 */
static void set_pace(struct sample_thread *thread, uint64_t cpu_ns)
{
    uint32_t n_handled = __atomic_load_n(&thread->n_handled, __ATOMIC_RELAXED);
    uint64_t cost_ns = 0, period;
    if (!wake_has_perf() || thread->is_masked)
        return;
    if (thread->period_ns == 0 ? wake_has_ticks() && cpu_ns - thread->start_cpu_ns < FIRST_EVENT_NS
                               : n_handled - thread->look.n_handled < SAMPLES_PER_EVENT)
        return;
    if (n_handled != 0)
        cost_ns = (uint64_t)((double)thread->cost_ticks / n_handled / sample_ticks(1000) * 1000);
    period = meter_random_ns(&noise, meter_period_ns(n_handled, cost_ns));
    if (wake_arm_perf(&thread->wake, thread->tid, period) < 0)
        return;
    __atomic_store_n(&thread->period_ns, period, __ATOMIC_RELAXED);
    __atomic_fetch_add(&thread->n_armed, 1, __ATOMIC_RELEASE);
    thread->look.n_handled = n_handled;
    if (!__atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE))
        wake_disarm(&thread->wake);
}

static void look_at_thread(struct sample_thread *thread, uint64_t now)
{
    struct sample_look *look = &thread->look;
    uint64_t cpu_ns = sample_cpu_ns(thread->tid);
    if (cpu_ns == 0)
        return; /* it has ended and will say so */
    if (look->is_parked && cpu_ns == look->cpu_ns) {
        look_at_parked(look, now);
    } else {
        look_at_changed(thread, now, cpu_ns);
        set_pace(thread, cpu_ns);
    }
    look->seen_ns = now;
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

static void arm_anew(void)
{
    for (struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        sample_lock(thread);
        if (__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE)) {
            wake_disarm(&thread->wake);
            thread->period_ns = 0;
            if (wake_has_ticks())
                wake_arm_ticks(&thread->wake, thread->tid);
        }
        sample_unlock(thread);
    }
}

/* Returns when to look next. */
static uint64_t look_at_all(void)
{
    uint64_t next = UINT64_MAX;
    for (struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        if (!__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE))
            continue;
        sample_lock(thread);
        if (__atomic_load_n(&thread->alive, __ATOMIC_ACQUIRE)) {
            uint64_t now = mono_now_ns();
            if (thread->look.next_ns <= now)
                look_at_thread(thread, now);
            next = thread->look.next_ns < next ? thread->look.next_ns : next;
        }
        sample_unlock(thread);
    }
    return next;
}

static void wait_until(uint64_t then)
{
    uint64_t now = mono_now_ns();
    uint64_t ns = then > now ? then - now : 0;
    struct timespec timeout;
    if (ns < LOOK_SHORTEST_NS / 4)
        ns = LOOK_SHORTEST_NS / 4;
    if (ns > HOUSEKEEPING_NS)
        ns = HOUSEKEEPING_NS;
    timeout = (struct timespec){.tv_nsec = (long)ns};
    syscall(SYS_futex, &is_wanted, FUTEX_WAIT_PRIVATE, 1, &timeout, NULL, 0);
}

static void *help(void *unused)
{
    uint64_t housekeeping = 0;
    prctl(PR_SET_NAME, "lprof");
    while (__atomic_load_n(&is_wanted, __ATOMIC_ACQUIRE)) {
        uint64_t now = mono_now_ns();
        bool lost;
        if (now >= housekeeping) {
            housekeeping = now + HOUSEKEEPING_NS;
            if (wake_signal_moved(&lost))
                arm_anew();
            update_objects(now);
        }
        wait_until(look_at_all());
    }
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
    has_helper = pthread_create(&helper, &attributes, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return has_helper ? 0 : -1;
}

void helper_stop(bool wait)
{
    __atomic_store_n(&is_wanted, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &is_wanted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (wait && has_helper) {
        pthread_join(helper, NULL);
        has_helper = false;
    }
}

void helper_after_fork(void)
{
    is_wanted = 0;
    has_helper = false;
    tally = NULL;
}
