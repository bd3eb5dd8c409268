/* monitor.c - see monitor.h. */
#include "python/monitor.h"

#include "base/ticks.h"
#include "lines/account.h"
#include "lines/calibrate.h"
#include "lines/line_search.h"
#include "lines/sample.h"
#include "lines/suspended.h"
#include "python/monitor_hot.h"
#include "python/own_events.h"
#include "python/newcomers.h"
#include "python/subscribing.h"

/* cProfile insists on id 2, so it is the last choice; 3 and 4 belong to nobody. */
static const int wanted_tool_ids[] = {4, 3, 2};

/* Of one line, until somebody looks at the time (calibrate_check); a power of two. */
#define EVENTS_BETWEEN_LOOKS 256

/* A callable that sys.monitoring reaches without building an argument tuple. */
struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static int tool_id = -1;
static PyObject *set_local_events; /* owned: sys.monitoring's function */
static PyObject *set_events;       /* owned */
static struct hot_events masks;
static long start_bit; /* of PY_START */
static bool global_is_on;

/* Does the search that the interpreter did before the event once more, to see how long it takes. */
static void look_at_search(struct lines_thread *thread, uint32_t unit)
{
    uint64_t start = ticks_now();
    if (PyCode_Addr2Line((PyCodeObject *)thread->top->key, (int)unit * 2) >= 0)
        line_search_adjust(thread, unit, ticks_now() - start);
}

/* Recursion, a line with events of two kinds or that is searched for, or that the code lacks. */
static NOINLINE PyObject *line_not_plain(struct lines_thread *thread, int32_t line, uint64_t raw)
{
    PyCodeObject *key = (PyCodeObject *)thread->top->key;
    uint32_t unit = (uint32_t)compat_running_unit();
    bool is_searched = thread->top->table->code->search != NULL;
    bool should_look =
        is_searched && line_search_charge(thread, unit, compat_knew_line_changed(key, unit));
    struct line_cell *cell = account_line(thread, line, raw);
    if (cell != NULL) {
        account_came_back(thread, cell, unit);
        account_give_credits(thread, unit);
    }
    if (should_look)
        look_at_search(thread, unit);
    return hot_should_ask(thread) ? hot_ask(thread) : Py_NewRef(Py_None);
}

static NOINLINE PyObject *line_unexpected(PyObject *code, int32_t line, uint64_t raw)
{
    struct lines_thread *thread = account_thread();
    if (thread == NULL || hot_has(code))
        Py_RETURN_NONE;
    if (thread->top->key != code &&
        account_resynchronise(thread, code, clock_virtual(thread->debt, raw)) < 0)
        Py_RETURN_NONE;
    return line_not_plain(thread, line, raw);
}

/* Now and then the host may have changed its speed, or the code may be due to turn hot. */
static NOINLINE PyObject *line_look(struct lines_thread *thread)
{
    if (ticks_now() >= probe_check_at)
        (void)calibrate_check(&thread->debt);
    return hot_should_ask(thread) ? hot_ask(thread) : Py_NewRef(Py_None);
}

/*
 * A LINE event is what there is most of. Everything but the plain case is a tail call, so that the
 * callback saves no register.
 */
static inline PyObject *line_at(PyObject *const *args, uint64_t raw)
{
    struct lines_thread *thread = lines_self;
    int32_t line = compat_line_number(args[1]);
    uint64_t n_events;
    if (unlikely(thread == NULL || thread->top->key != args[0]))
        return line_unexpected(args[0], line, raw);
    n_events = account_line_plain(thread, line, raw);
    if (unlikely((n_events & regime_ask_mask & (EVENTS_BETWEEN_LOOKS - 1)) == 0)) /* 0 as well */
        return n_events == 0 ? line_not_plain(thread, line, raw) : line_look(thread);
    Py_RETURN_NONE;
}

static PyObject *on_line(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return line_at(args, ticks_read_cycles());
}

static PyObject *on_line_slow_clock(PyObject *self, PyObject *const *args, size_t nargsf,
                                    PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return line_at(args, ticks_now_slow());
}

/* Hot code is not on the shadow stack: whether it is the caller has to be looked up. */
static void start_below_hot(struct lines_thread *thread, PyObject *code)
{
    uint64_t start = ticks_now();
    uint32_t unit;
    const void *caller = hot_caller(&unit);
    if (caller != NULL)
        account_start_from(thread, code, caller, unit);
    else
        account_start(thread, code);
    thread->debt += (ticks_now() - start) << PROBE_SHIFT;
}

/* Whether code that starts is profiled; else `answer` is what the callback has to return. */
static bool is_profiled(struct lines_thread *thread, PyObject *code, PyObject **answer)
{
    struct lines_code *registered = registry_find(code);
    if (registered == NULL) {
        *answer = newcomers_meet(thread, code);
        registered = registry_find(code);
        if (*answer != Py_None || registered == NULL)
            return false;
    }
    if (subscribing_complete(registered) < 0)
        PyErr_Clear();
    return true;
}

static NOINLINE PyObject *start_not_plain(PyObject *code)
{
    struct lines_thread *thread = account_thread();
    PyObject *answer;
    if (thread == NULL)
        Py_RETURN_NONE;
    if (hot_has(code)) {
        if (newcomers_are_possible)
            return newcomers_dismiss(code);
        Py_RETURN_NONE;
    }
    if (unlikely(newcomers_are_possible) && !is_profiled(thread, code, &answer))
        return answer;
    clock_charge(&thread->debt, PROBE_START);
    if (regime_codes != NULL)
        start_below_hot(thread, code);
    else
        account_start(thread, code);
    Py_RETURN_NONE;
}

static PyObject *on_start(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct lines_thread *thread = lines_self;
    (void)self, (void)nargsf, (void)kwnames;
    if (unlikely(thread == NULL || regime_codes != NULL || !account_start_plain(thread, args[0])))
        return start_not_plain(args[0]);
    clock_charge(&thread->debt, PROBE_START);
    Py_RETURN_NONE;
}

static PyObject *resume(PyObject *const *args, bool wanted)
{
    uint64_t raw = ticks_now();
    struct lines_thread *thread = account_thread();
    sample_learn(SAMPLE_EVENT_RESUME);
    if (unlikely(thread == NULL))
        Py_RETURN_NONE;
    if (hot_has(args[0]))
        account_resume_aside(thread, args[0], compat_running_frame(),
                             clock_event(&thread->debt, PROBE_RESUME, raw), raw, wanted);
    else
        account_resume(thread, args[0], compat_running_frame(),
                       (uint32_t)compat_small_int(args[1]) / 2,
                       clock_event(&thread->debt, PROBE_RESUME, raw), raw, wanted);
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return resume(args, true);
}

/* PY_THROW comes for every generator of the program before 3.15, ours or not. */
static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    if (registry_find(args[0]) != NULL)
        return resume(args, !PyErr_GivenExceptionMatches(args[2], PyExc_GeneratorExit));
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    uint64_t raw = ticks_now();
    struct lines_thread *thread = lines_self;
    (void)self, (void)nargsf, (void)kwnames;
    sample_learn(SAMPLE_EVENT_YIELD);
    if (unlikely(thread == NULL))
        Py_RETURN_NONE;
    if (hot_has(args[0]))
        account_yield_aside(thread, args[0], compat_running_frame(),
                            (uint32_t)compat_small_int(args[1]) / 2,
                            clock_event(&thread->debt, PROBE_YIELD, raw), raw);
    else
        account_yield(thread, args[0], compat_running_frame(),
                      clock_event(&thread->debt, PROBE_YIELD, raw), raw);
    Py_RETURN_NONE;
}

static NOINLINE PyObject *leave_not_plain(struct lines_thread *thread, PyObject *code, uint64_t now)
{
    account_leave(thread, code, now);
    Py_RETURN_NONE;
}

static inline PyObject *leave_at(PyObject *const *args, uint64_t raw)
{
    struct lines_thread *thread = lines_self;
    uint64_t now;
    if (unlikely(thread == NULL))
        Py_RETURN_NONE;
    now = clock_event(&thread->debt, PROBE_LEAVE, raw);
    if (unlikely(!account_leave_plain(thread, args[0], now)))
        return leave_not_plain(thread, args[0], now);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return leave_at(args, ticks_read_cycles());
}

static PyObject *on_leave_slow_clock(PyObject *self, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return leave_at(args, ticks_now_slow());
}

/* PY_UNWIND comes for every frame of the program before 3.15. */
static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct lines_thread *thread = lines_self;
    (void)self, (void)nargsf, (void)kwnames;
    if (thread != NULL &&
        (thread->top->key == args[0] || (registry_find(args[0]) != NULL && !hot_has(args[0]))))
        return leave_at(args, ticks_now());
    Py_RETURN_NONE;
}

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "proftrace._lines.callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(struct callback, call),
    .tp_call = PyVectorcall_Call,
};

/* Which code objects an event is for. */
enum audience {
    FOR_COLD = 1,
    FOR_HOT = 2,
    FOR_HOT_COROUTINES = 4,
    EVERYWHERE = 8, /* it cannot be local before 3.15 */
};

/* What is listened to; the numbers of the events are the interpreter's (they moved in 3.14). */
static const struct {
    const char *event;
    vectorcallfunc call;
    unsigned audience;
} subscriptions[] = {
    {"LINE", on_line, FOR_COLD},
    {"PY_START", on_start, FOR_COLD},
    {"PY_RETURN", on_leave, FOR_COLD},
    {"PY_UNWIND", on_unwind, FOR_COLD | EVERYWHERE},
    {"PY_RESUME", on_resume, FOR_COLD | FOR_HOT_COROUTINES},
    {"PY_YIELD", on_yield, FOR_COLD | FOR_HOT_COROUTINES},
    {"PY_THROW", on_throw, FOR_COLD | FOR_HOT_COROUTINES | EVERYWHERE},
    {"INSTRUCTION", hot_on_instruction, FOR_HOT},
    {"RAISE", hot_on_raise, FOR_HOT | EVERYWHERE},
};

static void add_to_masks(unsigned audience, long bit)
{
    if (audience & EVERYWHERE && !COMPAT_HAS_LOCAL_UNWIND) {
        if (audience & FOR_COLD)
            masks.global_mask |= bit;
        else
            masks.raise_bit = bit;
        return;
    }
    if (audience & FOR_COLD)
        masks.cold_mask |= bit;
    if (audience & FOR_HOT)
        masks.hot_mask |= bit;
    if (audience & FOR_HOT_COROUTINES)
        masks.suspended_mask |= bit;
}

static int claim_tool_id(PyObject *monitoring)
{
    for (size_t i = 0; i < sizeof wanted_tool_ids / sizeof wanted_tool_ids[0]; i++) {
        int id = wanted_tool_ids[i];
        PyObject *owner = PyObject_CallMethod(monitoring, "get_tool", "i", id);
        bool is_free = owner == Py_None;
        PyObject *done;
        if (owner == NULL)
            return -1;
        Py_DECREF(owner);
        if (!is_free)
            continue;
        done = PyObject_CallMethod(monitoring, "use_tool_id", "is", id, "lprof");
        if (done == NULL)
            return -1;
        Py_DECREF(done);
        tool_id = id;
        return 0;
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "other tools use the ids 2, 3 and 4 of sys.monitoring; stop one of them");
    return -1;
}

static int install_callback(PyObject *monitoring, PyObject *events, size_t which)
{
    PyObject *number = PyObject_GetAttrString(events, subscriptions[which].event);
    struct callback *callback = NULL;
    PyObject *done = NULL;
    int result = -1;
    if (number == NULL)
        return -1;
    callback = PyObject_New(struct callback, &callback_type);
    if (callback == NULL)
        goto done;
    callback->call = subscriptions[which].call;
    if (callback->call == on_line && !ticks_are_cycles)
        callback->call = on_line_slow_clock;
    if (callback->call == on_leave && !ticks_are_cycles)
        callback->call = on_leave_slow_clock;
    done = PyObject_CallMethod(monitoring, "register_callback", "iOO", tool_id, number, callback);
    if (done == NULL)
        goto done;
    if (callback->call == on_start)
        start_bit = PyLong_AsLong(number);
    add_to_masks(subscriptions[which].audience, PyLong_AsLong(number));
    result = 0;
done:
    Py_XDECREF(done);
    Py_XDECREF(callback);
    Py_DECREF(number);
    return result;
}

bool monitor_is_on(void)
{
    return tool_id >= 0;
}

/* A tool that gets the id after us must not get our callbacks and events with it (up to 3.13). */
static int remove_callbacks(PyObject *monitoring)
{
    PyObject *events = PyObject_GetAttrString(monitoring, "events");
    int result = events == NULL ? -1 : 0;
    for (size_t i = 0; i < sizeof subscriptions / sizeof subscriptions[0] && result == 0; i++) {
        PyObject *number = PyObject_GetAttrString(events, subscriptions[i].event);
        PyObject *done = number == NULL ? NULL
                                        : PyObject_CallMethod(monitoring, "register_callback",
                                                              "iOO", tool_id, number, Py_None);
        result = done == NULL ? -1 : 0;
        Py_XDECREF(done);
        Py_XDECREF(number);
    }
    Py_XDECREF(events);
    return result;
}

int monitor_release(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    PyObject *done;
    int given_back = tool_id;
    if (!monitor_is_on())
        return 0;
    hot_release();
    own_events_release();
    done = PyObject_CallFunction(set_events, "ii", tool_id, 0);
    global_is_on = false;
    if (done == NULL || remove_callbacks(monitoring) < 0) {
        Py_XDECREF(done);
        return -1;
    }
    Py_DECREF(done);
    tool_id = -1;
    done = PyObject_CallMethod(monitoring, "free_tool_id", "i", given_back);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

int monitor_start(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    PyObject *events = NULL;
    int result = -1;
    if (monitor_is_on())
        return 0;
    if (monitoring == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this interpreter has no sys.monitoring");
        return -1;
    }
    if (COMPAT_IS_FREE_THREADED)
        suspended_use_lock();
    if (PyType_Ready(&callback_type) < 0 || claim_tool_id(monitoring) < 0)
        return -1;
    events = PyObject_GetAttrString(monitoring, "events");
    if (set_events == NULL) {
        set_local_events = PyObject_GetAttrString(monitoring, "set_local_events");
        set_events = PyObject_GetAttrString(monitoring, "set_events");
    }
    if (events == NULL || set_local_events == NULL || set_events == NULL)
        goto done;
    for (size_t i = 0; i < sizeof subscriptions / sizeof subscriptions[0]; i++)
        if (install_callback(monitoring, events, i) < 0)
            goto done;
    masks.tool_id = tool_id;
    result = hot_prepare(&masks);
    if (result == 0)
        result = own_events_guard(tool_id);
done:
    Py_XDECREF(events);
    return result;
}

int monitor_subscribe_local(PyCodeObject *code, enum monitor_events events)
{
    long mask = events == MONITOR_COLD    ? masks.cold_mask
                : events == MONITOR_HOT   ? masks.hot_mask
                : events == MONITOR_START ? start_bit
                                          : 0;
    PyObject *done = PyObject_CallFunction(set_local_events, "iOl", tool_id, code, mask);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int subscribe_global(void)
{
    PyObject *done = PyObject_CallFunction(set_events, "il", tool_id, masks.global_mask);
    Py_XDECREF(done);
    global_is_on = done != NULL;
    return done == NULL ? -1 : 0;
}

int monitor_watch_starts(void)
{
    masks.global_mask |= start_bit;
    hot_listen_to(start_bit);
    return subscribe_global();
}

int monitor_subscribe(PyCodeObject *code)
{
    if (!global_is_on && masks.global_mask != 0 && subscribe_global() < 0)
        return -1;
    /* Its PY_START events were answered with DISABLE: they do not come back by themselves. */
    if (newcomers_were_dismissed((PyObject *)code) && newcomers_recall() < 0)
        return -1;
    return monitor_subscribe_local(code, MONITOR_COLD);
}
