/* monitor_hot.c - see monitor_hot.h. */
#include "python/monitor_hot.h"

#include "base/ticks.h"
#include "lines/sample.h"
#include "lines/sample_rest.h"
#include "lines/slow_code.h"
#include "python/code_facts.h"
#include "python/counting.h"
#include "python/newcomers.h"
#include "python/other_tools.h"
#include "python/running_frames.h"
#include "python/sampling.h"

/* Between a profiled function and the one that it calls. */
#define CALLER_DEPTH 100u

static struct hot_events events;
static PyObject *set_local_events; /* owned: sys.monitoring's function */
static PyObject *set_events;       /* owned */
static PyObject *disable;          /* owned: what a callback returns to have no more of an event */
static bool is_allowed_without_samples;
static bool raise_is_on;
static bool watches_others;

/* ---- callbacks ------------------------------------------------------------------------------ */

static NOINLINE PyObject *instruction_without_probe(void)
{
    sample_learn(SAMPLE_EVENT_INSTRUCTION);
    return Py_NewRef(disable);
}

PyObject *hot_on_instruction(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames)
{
    uint32_t offset = compat_offset(args[1]);
    struct lines_thread *thread = lines_self;
    (void)self, (void)nargsf, (void)kwnames;
    if (unlikely(!counters_pass(counters_find(&regime_counters, args[0]), offset / 2)))
        return instruction_without_probe();
    if (likely(thread != NULL)) /* else there is no cold line whose time would be too long */
        account_charge_hot(thread, offset > COMPAT_LARGEST_SMALL_INT ? PROBE_INSTRUCTION_LARGE
                                                                     : PROBE_INSTRUCTION);
    sample_thread_enter();
    Py_RETURN_NONE;
}

PyObject *hot_on_raise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct lines_thread *thread = lines_self;
    (void)self, (void)nargsf, (void)kwnames;
    sample_learn(SAMPLE_EVENT_RAISE);
    if (counting_raise(&regime_counters, args) && thread != NULL)
        account_charge_hot(thread, PROBE_LEAVE); /* takes about as long */
    else if (thread != NULL)
        account_charge_raise(thread);
    Py_RETURN_NONE;
}

/* ---- callers -------------------------------------------------------------------------------- */

struct caller_search {
    uint32_t n_seen;
    const void *key;
    uint32_t unit;
};

static bool look_for_caller(void *context, const void *key, uint32_t unit)
{
    struct caller_search *search = context;
    if (search->n_seen++ == 0)
        return true; /* who is called */
    if (hot_has(key)) {
        search->key = key;
        search->unit = unit;
        return false;
    }
    return registry_find(key) == NULL && search->n_seen < CALLER_DEPTH;
}

const void *hot_caller(uint32_t *unit)
{
    struct caller_search search = {0};
    running_frames_walk_own(look_for_caller, &search);
    *unit = search.unit;
    return search.key;
}

/* ---- subscriptions -------------------------------------------------------------------------- */

/* Drops the result of a call and its exception: 0, or -1. */
static int done(PyObject *result)
{
    if (result == NULL)
        PyErr_Clear();
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static int subscribe(const struct lines_code *code, long mask)
{
    return done(PyObject_CallFunction(set_local_events, "iOl", events.tool_id,
                                      (PyObject *)code->key, mask));
}

static int subscribe_raise(void)
{
    if (raise_is_on || events.raise_bit == 0)
        return 0;
    if (done(PyObject_CallFunction(set_events, "il", events.tool_id,
                                   events.global_mask | events.raise_bit)) < 0)
        return -1;
    raise_is_on = true;
    return 0;
}

static bool is_generator(const struct lines_code *code)
{
    return (code->flags & CO_GENERATOR) && !(code->flags & CO_ITERABLE_COROUTINE);
}

/* Coroutines wait for something, which is always worth to be timed. */
static long hot_mask_of(const struct lines_code *code)
{
    bool awaits = code->flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR);
    bool is_timed = is_generator(code) && !code->hot->has_short_suspensions;
    return events.hot_mask | (awaits || is_timed ? events.suspended_mask : 0);
}

/* ---- from cold to hot ----------------------------------------------------------------------- */

static void say_regime(const char *first, const char *why)
{
    char text[200];
    int n_bytes = PyOS_snprintf(text, sizeof text, "%s%s", first, why);
    static bool is_said;
    if (n_bytes > 0 && !__atomic_exchange_n(&is_said, true, __ATOMIC_RELAXED))
        is_said = registry_add_meta("regime", text, (uint32_t)n_bytes) == 0;
}

/* Nothing can be hot here: nobody needs to ask again. */
static void give_up(enum cold_reason reason, const char *why)
{
    say_regime("clock: ", why);
    regime_forbid(reason);
}

/* What keeps any code from being hot for good; the first time, sampling is started. */
static bool is_impossible(void)
{
    const struct frame_reader *frames;
    const char *why;
    if (COMPAT_IS_FREE_THREADED) {
        give_up(COLD_THREADS, "this interpreter runs threads without a GIL");
        return true;
    }
    why = sampling_frames(&frames);
    if (why != NULL) {
        give_up(COLD_LAYOUT, why);
        return true;
    }
    why = sampling_start();
    if (why != NULL && !is_allowed_without_samples) {
        give_up(COLD_SAMPLER, why);
        return true;
    }
    if (regime_walk == NULL) {
        running_frames_prepare(frames);
        regime_walk = running_frames_walk;
    }
    return false;
}

static enum cold_reason prepare(struct lines_code *code)
{
    struct code_reading reading = {0};
    enum cold_reason reason = COLD_MEMORY;
    if (code->hot != NULL)
        return COLD_UNASKED;
    if (code_facts_read(&reading, (PyCodeObject *)code->key) == 0)
        reason = regime_prepare(code, &reading.list, reading.rules, is_generator(code));
    else
        PyErr_Clear();
    code_facts_release(&reading);
    return reason;
}

struct place_of_code {
    struct lines_code *code;
    void (*tell)(struct lines_code *code, uint32_t unit);
};

static bool tell_place(void *context, const void *key, uint32_t unit)
{
    const struct place_of_code *of = context;
    if (key == of->code->key)
        of->tell(of->code, unit);
    return true;
}

static void tell_places(struct lines_code *code, void (*tell)(struct lines_code *, uint32_t))
{
    struct place_of_code of = {code, tell};
    running_frames_walk(tell_place, &of);
}

static void turn_hot(struct lines_code *code, uint64_t raw)
{
    enum cold_reason reason = prepare(code);
    if (reason != COLD_UNASKED) {
        regime_refuse(code, reason, true);
        return;
    }
    if (subscribe_raise() < 0 || subscribe(code, hot_mask_of(code)) < 0) {
        regime_refuse(code, COLD_MEMORY, true);
        if (subscribe(code, events.cold_mask) < 0)
            return; /* it has no events at all then, which is all that can be done */
        return;
    }
    tell_places(code, regime_enter);
    regime_heat(code, raw);
    say_regime("count-and-sample", "");
}

/* ---- from hot to cold ----------------------------------------------------------------------- */

/* Another tool is about to arrive; no event may be lost to it. */
static void turn_all_cold(enum cold_reason reason)
{
    if (regime_codes != NULL && newcomers_recall() < 0) /* cold code needs its PY_START again */
        PyErr_Clear();
    for (struct hot_code *hot = regime_codes; hot != NULL; hot = hot->next) {
        if (!hot->is_hot)
            continue;
        tell_places(hot->code, regime_leave);
        regime_cool(hot->code, reason);
        if (subscribe(hot->code, events.cold_mask) < 0)
            hot->code->reason = COLD_MEMORY;
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

/*
 * Tests want everything hot; without the GIL, nothing is, and other threads go on counting.
 */
static bool may_stay_cold(struct lines_code *code)
{
    if (is_allowed_without_samples || COMPAT_IS_FREE_THREADED || !slow_code_suits_clock(code))
        return false;
    regime_postpone(code);
    return true;
}

/* What keeps it cold is said, also where the clock suits it. */
static void change_if_possible(struct lines_code *code, uint64_t raw)
{
    enum cold_reason reason =
        COMPAT_IS_FREE_THREADED ? COLD_UNASKED : other_tools_find(events.tool_id);
    if ((reason == COLD_UNASKED && may_stay_cold(code)) || is_impossible())
        return;
    if (reason == COLD_UNASKED) {
        turn_hot(code, raw);
        return;
    }
    if (reason == COLD_STACKS)
        turn_all_cold(reason);
    regime_refuse(code, reason, reason == COLD_JIT || reason == COLD_STACKS);
}

NOINLINE PyObject *hot_ask(struct lines_thread *thread)
{
    struct lines_code *code = registry_find(thread->top->key);
    uint64_t raw = ticks_now();
    if (regime_ask_mask != UINT64_MAX && code != NULL && regime_is_due(code)) {
        change_if_possible(code, raw);
        line_search_put_off(code);                          /* if it stays cold */
        thread->debt += (ticks_now() - raw) << PROBE_SHIFT; /* nobody's time */
    }
    Py_RETURN_NONE;
}

/* ---- start ---------------------------------------------------------------------------------- */

int hot_prepare(const struct hot_events *wanted)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    events = *wanted;
    if (set_events != NULL) { /* the id was given back meanwhile */
        sample_go_on();
        return watches_others ? other_tools_watch(turn_all_cold) : 0;
    }
    set_local_events = PyObject_GetAttrString(monitoring, "set_local_events");
    set_events = PyObject_GetAttrString(monitoring, "set_events");
    disable = PyObject_GetAttrString(monitoring, "DISABLE");
    return set_local_events == NULL || set_events == NULL || disable == NULL ? -1 : 0;
}

void hot_release(void)
{
    raise_is_on = false;
    other_tools_ignore();
    sample_rest();
}

void hot_listen_to(long bit)
{
    events.global_mask |= bit;
}

int hot_allow(uint64_t n_events, bool anyway)
{
    is_allowed_without_samples = anyway;
    if (regime_allow(n_events) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    watches_others = true;
    return other_tools_watch(turn_all_cold);
}

void hot_silence(struct lines_code *code)
{
    if (code->hot != NULL && code->hot->is_hot) {
        tell_places(code, regime_leave);
        regime_cool(code, COLD_UNASKED);
        code->events_until_hot = 0; /* it may be hot again as soon as it has events again */
        if (newcomers_recall() < 0)
            PyErr_Clear();
    }
    regime_retire(code, ticks_now());
    if (subscribe(code, 0) < 0)
        code->reason = COLD_MEMORY;
}

void hot_restart(void)
{
    turn_all_cold(COLD_UNASKED);
}

void hot_forbid(void)
{
    give_up(COLD_CLOCK, "it was asked for (--clock)");
}

const char *hot_watch(struct lines_code *code)
{
    const char *why = sampling_start();
    if (why != NULL)
        return why;
    __atomic_store_n(&code->regime, REGIME_HOT, __ATOMIC_RELAXED);
    sample_thread_enter();
    return NULL;
}
