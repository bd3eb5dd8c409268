/* sample.c - see sample.h: the life of the sampler and of its threads, and the signal handler. */
#include "lines/sample.h"

#include "base/ticks.h"
#include "lines/sample_cost.h"
#include "lines/sample_fork.h"
#include "lines/sample_reach.h"
#include "lines/sample_rest.h"
#include "lines/sample_thread.h"
#include "lines/sample_state.h"
#include "lines/sample_verdict.h"
#include "lines/sample_weight.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h> /* snprintf of integers and texts, which takes no lock */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

TLS_FAST struct sample_thread *sample_self;
uint32_t sample_unlearned;
uint32_t sample_is_running;
struct sample_thread *sample_threads;
struct sample_host sample_host;

static const char *refusal; /* why there are no samples */
static bool was_started;
static double ticks_per_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `idle` and adding threads */
static struct sample_thread *idle;
static pthread_key_t thread_end;

/* ---- clocks --------------------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t sample_cpu_ns(pid_t tid)
{
    return clock_ns(wake_cpu_clock(tid));
}

uint64_t sample_ticks(uint64_t ns)
{
    return (uint64_t)((double)ns * ticks_per_ns);
}

/* ---- the handler ---------------------------------------------------------------------------- */

void sample_find_clock(const struct lines_thread *account, struct sample_clock *clock)
{
    const struct lines_frame *frame = account->top;
    *clock = (struct sample_clock){0};
    /* Before its first line, the line of the frame below is running. */
    for (; frame != &account->bottom && frame != NULL; frame = frame->below) {
        const struct line_cell *line = frame->line;
        const struct call_edge *edge = frame->edge;
        if (line < frame->cells || line >= frame->cells + frame->table->code->n_lines)
            continue;
        clock->line.code = frame->table->code;
        clock->line.line = (uint32_t)(line - frame->cells);
        if (edge->caller_table != NULL) {
            clock->caller.code = edge->caller_table->code;
            clock->caller.line = (uint32_t)(edge->caller - edge->caller_table->cells);
        }
        return;
    }
}

bool sample_is_tracing(struct peek *peek, uintptr_t state)
{
    int32_t depth = 0;
    return state != 0 &&
           peek_bytes(peek, state + sample_host.state_tracing, &depth, sizeof depth) && depth > 0;
}

static void take_sample(struct sample_thread *self, const void *context, uint64_t weight_ns)
{
    uintptr_t state = (uintptr_t)sample_host.frames->binding.attached_state();
    struct sample_clock clock;
    if (state != 0)
        __atomic_store_n(&self->state, state, __ATOMIC_RELAXED);
    if (!walk_chain(&self->walk, frames_top(sample_host.frames))) {
        self->tally.torn++;
        self->meter.left_ns += weight_ns; /* the next one stands for it */
        return;
    }
    tally_pass(&self->tally, sample_ticks(sample_stretch(self, weight_ns)));
    if (self->walk.n == 0) {
        self->tally.elsewhere++;
        weight_learn_debt(self, weight_ns, false);
        return;
    }
    sample_find_clock(self->account, &clock);
    /* The callbacks run with the GIL; without it, the thread cannot be in one. */
    if (sample_is_tracing(&self->walk.peek, state) ||
        (state != 0 && verdict_is_overhead(&self->unwind, context))) {
        /* Without the stretch: compared with what is known of the cost of probes. */
        tally_discard(&self->tally, self->walk.places, self->walk.n, &clock,
                      sample_ticks(weight_ns));
        weight_learn_debt(self, weight_ns, true);
        weight_put_wait_aside(self, weight_ns);
        return;
    }
    weight_learn_debt(self, weight_ns, false);
    tally_add(&self->tally, self->walk.places, self->walk.n, &clock, weight_take(self, weight_ns));
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct sample_thread *self = sample_self;
    uint64_t start_ns, weight_ns, cost_ns;
    enum wake_cause cause;
    int saved_errno = errno;
    (void)number;
    if (self == NULL)
        return;
    /* Where the program may have no signal wait, it comes without saying from whom. */
    if (self->is_learning && (info->si_code == SI_TKILL || info->si_code == SI_USER)) {
        peek_forget(&self->walk.peek);
        self->learn_result = verdict_learn(&self->unwind, context);
        self->is_learning = 0;
        return;
    }
    cause = wake_cause_of(info, &self->wake);
    if (cause == WAKE_FOREIGN || !__atomic_load_n(&sample_is_running, __ATOMIC_RELAXED))
        return;
    if (self->is_measuring) {
        __atomic_store_n(&self->n_measured, self->n_measured + 1, __ATOMIC_RELAXED);
        return;
    }
    if (__atomic_load_n(&self->is_unheard, __ATOMIC_RELAXED))
        return; /* it had been waiting: meanwhile the helper has taken over */
    __atomic_store_n(&self->n_handled, self->n_handled + 1, __ATOMIC_RELAXED);
    start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    weight_ns = weight_of_sample(self, cause == WAKE_TICK, start_ns);
    if (weight_ns != 0)
        take_sample(self, context, weight_ns);
    cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns + sample_delivery_ns;
    self->cost_ns += cost_ns;
    debt_add_signal(self->account, sample_ticks(cost_ns));
    self->meter.cpu_ns += cost_ns; /* ours: the next sample does not stand for it */
    errno = saved_errno;
}

/* ---- threads -------------------------------------------------------------------------------- */

void sample_lock(struct sample_thread *thread)
{
    while (__atomic_exchange_n(&thread->lock, 1, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

void sample_unlock(struct sample_thread *thread)
{
    __atomic_store_n(&thread->lock, 0, __ATOMIC_RELEASE);
}

/*
 * Quick, as threading's join does not wait for it, and os.fork counts threads that are not quite
 * gone: the helper does the rest.
 */
static void thread_ended(void *value)
{
    struct sample_thread *thread = value;
    sample_self = NULL;
    /* What it has left goes to the thread that takes its place. */
    meter_hand_over(&thread->meter, clock_ns(CLOCK_THREAD_CPUTIME_ID), 0);
    __atomic_store_n(&thread->alive, THREAD_ENDED, __ATOMIC_RELEASE);
}

void sample_bury(struct sample_thread *thread)
{
    wake_disarm(&thread->wake);
    __atomic_store_n(&thread->alive, THREAD_IDLE, __ATOMIC_RELEASE);
    pthread_mutex_lock(&lock);
    thread->next_idle = idle;
    idle = thread;
    pthread_mutex_unlock(&lock);
}

/* Returns an idle one or a new one; NULL when memory is out. */
static struct sample_thread *thread_take(void)
{
    struct sample_thread *thread;
    pthread_mutex_lock(&lock);
    thread = idle;
    if (thread != NULL) {
        idle = thread->next_idle;
    } else if ((thread = pages_alloc(sizeof *thread)) != NULL) {
        tally_publish(&thread->tally);
        thread->next = sample_threads;
        __atomic_store_n(&sample_threads, thread, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return thread;
}

void sample_look_anew(struct sample_thread *thread, uint64_t cpu_ns)
{
    thread->look.start_ns = mono_now_ns();
    thread->look.start_cpu_ns = thread->look.cpu_ns = cpu_ns;
    thread->look.next_ns = thread->look.start_ns;
    thread->look.mean_ns = thread->look.weighed_ns = thread->look.known_ns = 0;
    thread->look.park.n_looks = 0;
    thread->stretch = 1u << STRETCH_SHIFT;
    thread->look.start_delay_ns = thread->look.delay_ns = state_delay_ns(thread->tid);
    thread->look.stretch_delay_ns = thread->look.delay_ns;
    thread->look.n_waits = state_n_waits(thread->tid);
    thread->look.off_ns = 0;
    thread->look.delay_cpu_ns = cpu_ns;
    thread->look.mask_cpu_ns = thread->look.pace_cpu_ns = cpu_ns;
    thread->look.n_handled = thread->n_handled;
    thread->look.mask_handled = thread->n_handled;
}

static void thread_begin(struct sample_thread *thread)
{
    thread->tid = (pid_t)syscall(SYS_gettid);
    thread->account = account_thread();
    thread->state = (uintptr_t)sample_host.frames->binding.attached_state();
    thread->walk.reader = thread->look.walk.reader = sample_host.frames;
    thread->unwind.peek = &thread->walk.peek;
    thread->start_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    thread->period_ns = 0;
    thread->debt = (struct sample_debt){0};
    if (thread->account != NULL)
        thread->debt.due_seen = thread->account->hot_due;
    meter_hand_over(&thread->meter, 0, thread->start_cpu_ns);
    sample_look_anew(thread, thread->start_cpu_ns);
    thread->is_unheard = false;
}

/* Makes the calling thread one of the sampler's, without a clock yet. NULL: memory is out. */
static struct sample_thread *thread_enter(void)
{
    struct sample_thread *thread = thread_take();
    if (thread == NULL)
        return NULL;
    thread_begin(thread);
    if (thread->account == NULL || pthread_setspecific(thread_end, thread) != 0)
        return NULL;
    return sample_self = thread;
}

static void thread_start_clocks(struct sample_thread *self)
{
    reach_arm(self, reach_is_blocked_here());
    __atomic_store_n(&self->alive, THREAD_ALIVE, __ATOMIC_RELEASE);
}

void sample_thread_enter_slow(void)
{
    struct sample_thread *thread;
    if (!__atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE) || sample_self != NULL)
        return;
    thread = thread_enter();
    if (thread != NULL) /* else it goes without samples */
        thread_start_clocks(thread);
}

/* ---- learning ------------------------------------------------------------------------------- */

static int learn_here(void)
{
    struct sample_thread *self = sample_self;
    if (self == NULL)
        return -1;
    self->learn_result = -1;
    self->is_learning = 1;
    if (wake_self(self->tid) < 0)
        self->is_learning = 0;
    return self->learn_result;
}

void sample_learn_slow(enum sample_event event)
{
    sample_thread_enter();
    if (sample_self == NULL)
        return;
    /* Not understood: its samples count as the program's; the like of it may not be tried again. */
    (void)!learn_here();
    __atomic_fetch_and(&sample_unlearned, ~(1u << event), __ATOMIC_RELAXED);
}

/* ---- fork ----------------------------------------------------------------------------------- */

static void before_fork(void)
{
    fork_pause();
    pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
    fork_resume();
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    helper_after_fork();
    for (struct sample_thread *thread = sample_threads; thread != NULL; thread = thread->next) {
        wake_forget(&thread->wake);
        thread->alive = THREAD_IDLE;
        thread->lock = 0;
    }
    if (was_started && refusal == NULL)
        wake_stop();
    sample_threads = NULL;
    sample_tallies = NULL;
    idle = NULL;
    sample_self = NULL;
    sample_is_running = 0;
    sample_unlearned = 0;
    was_started = false;
    refusal = NULL;
    sample_rest_after_fork();
}

/* ---- start and end -------------------------------------------------------------------------- */

static const char *prepare(void)
{
    static bool is_prepared;
    struct tick_anchor first = ticks_anchor();
    if (!is_prepared) {
        if (pthread_key_create(&thread_end, thread_ended) != 0 ||
            pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
            return "the C library has no room left for what sampling needs";
        is_prepared = true;
    }
    if (unwind_read_objects() < 0)
        return "/proc/self/maps cannot be read";
    ticks_per_ns = 1.0 / ticks_scale_ns(&first, &first);
    return NULL;
}

/*
 * In the first thread: its stack shows where the interpreter calls our callbacks. No clock of it
 * may run yet, as the handler uses the same `unwind` and `peek`.
 */
static const char *learn_loop(void)
{
    if (thread_enter() == NULL)
        return "there is no memory for samples";
    peek_forget(&sample_self->walk.peek);
    if (verdict_prepare(&sample_self->unwind, sample_host.eval_loop, sample_host.ordinary_call) <
            0 ||
        learn_here() < 0)
        return "the interpreter's native stack cannot be followed";
    return NULL;
}

static const char *start(const struct sample_host *host)
{
    const char *reason = prepare();
    if (reason != NULL)
        return reason;
    sample_host = *host;
    fork_prepare(host->frames, host->call_soon);
    reason = wake_start(on_signal, !host->without_perf, !host->without_ticks);
    if (reason != NULL)
        return reason;
    __atomic_store_n(&sample_is_running, 1, __ATOMIC_RELEASE);
    reason = learn_loop();
    if (reason == NULL) {
        sample_measure_delivery(sample_self);
        /* What it took so far is nobody's. */
        meter_hand_over(&sample_self->meter, 0, clock_ns(CLOCK_THREAD_CPUTIME_ID));
        thread_start_clocks(sample_self);
        helper_pace_first(sample_self);
    }
    if (reason == NULL && helper_start() < 0)
        reason = "no thread can be started";
    if (reason != NULL) {
        sample_stop();
        return reason;
    }
    sample_unlearned = ~0u;
    return NULL;
}

const char *sample_start(const struct sample_host *host)
{
    if (!was_started) {
        was_started = true;
        refusal = start(host);
    }
    return refusal;
}

void sample_stop(void)
{
    if (!__atomic_exchange_n(&sample_is_running, 0, __ATOMIC_ACQ_REL))
        return;
    sample_unlearned = 0;
    helper_stop(false);
    for (struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next)
        wake_disarm(&thread->wake);
    wake_stop();
}

/* Mean time in the handler, in ns. */
static unsigned long long handler_ns(void)
{
    uint64_t ns = 0, n = 0;
    for (const struct sample_thread *thread = __atomic_load_n(&sample_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        ns += thread->cost_ns;
        n += thread->n_handled;
    }
    return n == 0 ? 0 : (unsigned long long)(ns / n);
}

size_t sample_describe(char *text, size_t room)
{
    const char *mechanism = wake_has_perf()
                                ? wake_has_ticks() ? "perf event and thread timer" : "perf event"
                                : "thread timer";
    unsigned long long samples = 0, discarded = 0, torn = 0;
    int n;
    if (!was_started)
        return 0;
    for (const struct sample_tally *tally = __atomic_load_n(&sample_tallies, __ATOMIC_ACQUIRE);
         tally != NULL; tally = tally->next) {
        samples += tally->samples;
        discarded += tally->discarded;
        torn += tally->torn;
    }
    if (refusal != NULL)
        n = snprintf(text, room, "{\"refused\": \"%s\"}", refusal);
    else
        n = snprintf(text, room,
                     "{\"mechanism\": \"%s\", \"signal\": %d, \"samples\": %llu, "
                     "\"discarded\": %llu, \"torn\": %llu, \"handler_ns\": %llu}",
                     mechanism, wake_signal(), samples, discarded, torn, handler_ns());
    return n < 0 || (size_t)n >= room ? 0 : (size_t)n;
}
