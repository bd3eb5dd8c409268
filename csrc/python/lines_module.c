/* lines_module.c - the module proftrace._lines: the line tracer inside the target. */
#include "python/compat.h"

#include "base/ticks.h"
#include "format/record.h"
#include "lines/account.h"
#include "lines/ending.h"
#include "lines/restart.h"
#include "lines/sample_fork.h"
#include "lines/saver.h"
#include "python/calibration.h"
#include "python/code_facts.h"
#include "python/collector.h"
#include "python/exactness.h"
#include "python/exits.h"
#include "python/listening.h"
#include "python/monitor.h"
#include "python/monitor_hot.h"
#include "python/replaced_code.h"
#include "python/newcomers.h"
#include "python/rules_view.h"
#include "python/sampling.h"
#include "python/starts.h"
#include "python/subscribing.h"

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

/* How old the result of a child may be that is killed, with the time to write it. */
#define FOLLOWED_INTERVAL_NS 500000000u

/* Returns a NULL-terminated array that lives as long as the process, from a sequence of bytes. */
static char **copy_strings(PyObject *sequence)
{
    PyObject *items = PySequence_Fast(sequence, "a sequence of bytes is needed");
    Py_ssize_t n_items;
    char **copies;
    if (items == NULL)
        return NULL;
    n_items = PySequence_Fast_GET_SIZE(items);
    copies = PyMem_RawCalloc((size_t)n_items + 1, sizeof *copies);
    for (Py_ssize_t i = 0; copies != NULL && i < n_items; i++) {
        char *bytes;
        Py_ssize_t n_bytes;
        if (PyBytes_AsStringAndSize(PySequence_Fast_GET_ITEM(items, i), &bytes, &n_bytes) == 0)
            copies[i] = registry_copy(bytes, (size_t)n_bytes);
        if (copies[i] == NULL) {
            PyMem_RawFree(copies);
            copies = NULL;
        }
    }
    Py_DECREF(items);
    if (copies == NULL && !PyErr_Occurred())
        PyErr_NoMemory();
    return copies;
}

static void after_fork_in_child(void)
{
    registry_after_fork();
    subscribing_after_fork();
    account_after_fork();
    saver_after_fork();
}

static void describe_process(struct result_settings *result)
{
    result->python_hexversion = PY_VERSION_HEX;
    result->options = COMPAT_IS_FREE_THREADED ? OPTION_FREE_THREADED : 0;
    result->pid = (uint32_t)getpid();
    result->ppid = (uint32_t)getppid();
    result->start_wall_ns = wall_now_ns();
    result->start = ticks_anchor();
    if (getrandom(result->session_id, sizeof result->session_id, GRND_NONBLOCK) < 0)
        memcpy(result->session_id, &result->start, sizeof result->session_id); /* early in boot */
}

/* Our own threads are away while the program forks. */
static int watch_forks(void)
{
    const struct frame_reader *frames = NULL;
    if (sampling_frames(&frames) != NULL)
        frames = NULL;
    fork_prepare(frames, Py_AddPendingCall);
    return pthread_atfork(fork_pause, fork_resume, after_fork_in_child) == 0 ? 0 : -1;
}

static int read_settings(struct ending_settings *settings, PyObject *args)
{
    const char *output, *temporary, *parts = NULL;
    PyObject *report, *environ, *folder;
    int quiet, has_targets, is_child;
    if (!PyArg_ParseTuple(args, "yyOOppOp:start", &output, &temporary, &report, &environ, &quiet,
                          &has_targets, &folder, &is_child) ||
        (folder != Py_None && (parts = PyBytes_AsString(folder)) == NULL))
        return -1;
    settings->result.path = registry_copy(output, strlen(output));
    settings->result.temporary = registry_copy(temporary, strlen(temporary));
    settings->parts = parts == NULL ? NULL : registry_copy(parts, strlen(parts));
    if (settings->result.path == NULL || settings->result.temporary == NULL ||
        (parts != NULL && settings->parts == NULL)) {
        PyErr_NoMemory();
        return -1;
    }
    if (report != Py_None && (settings->report = copy_strings(report)) == NULL)
        return -1;
    settings->quiet = quiet;
    settings->has_targets = has_targets;
    settings->is_child = is_child;
    return (settings->environ = copy_strings(environ)) == NULL ? -1 : 0;
}

PyDoc_STRVAR(start_doc,
             "start($module, output, temporary, report, environ, quiet, has_targets, parts,\n"
             "      is_child, /)\n--\n\n"
             "Claim a tool id and begin the session of this process; may be called once.");

/* Begins to listen, once in a process. */
static int open_tracer(void)
{
    static bool is_open;
    struct result_settings process = {0};
    if (is_open)
        return 0;
    if (code_facts_prepare() < 0 || monitor_start() < 0)
        return -1;
    describe_process(&process);
    if (calibration_run(&process.start) < 0)
        return -1;
    if (watch_forks() < 0) {
        PyErr_NoMemory();
        return -1;
    }
    collector_describe(&process);
    is_open = true;
    return 0;
}

PyDoc_STRVAR(open_doc, "open($module, /)\n--\n\n"
                       "Claim a tool id without a session: for collectors. Once is enough.");

static PyObject *lines_open(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (open_tracer() < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *lines_start(PyObject *self, PyObject *args)
{
    struct ending_settings settings = {0};
    (void)self;
    if (read_settings(&settings, args) < 0 || open_tracer() < 0 || exits_install() < 0)
        return NULL;
    describe_process(&settings.result);
    ending_prepare(&settings);
    ending_watch_signals();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(save_every_doc, "save_every($module, seconds, /)\n--\n\n"
                             "Write what there is so far every so many seconds; 0: as followed\n"
                             "processes do.");

static PyObject *lines_save_every(PyObject *self, PyObject *args)
{
    double seconds;
    uint64_t interval_ns = FOLLOWED_INTERVAL_NS;
    (void)self;
    if (!PyArg_ParseTuple(args, "d:save_every", &seconds))
        return NULL;
    if (seconds > 0)
        interval_ns = (uint64_t)(seconds * 1e9);
    if (saver_start(interval_ns) < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no thread can be started");
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(follow_starts_doc,
             "follow_starts($module, adjust, /)\n--\n\n"
             "Let adjust(name, args, kwargs) change how the program starts other programs.");

static PyObject *lines_follow_starts(PyObject *self, PyObject *adjust)
{
    (void)self;
    if (starts_install(adjust) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(exec_is_followed_doc, "exec_is_followed($module, is_followed, /)\n--\n\n"
                                   "Say whether what the next exec makes of this process goes on\n"
                                   "with the session.");

static PyObject *lines_exec_is_followed(PyObject *self, PyObject *is_followed)
{
    (void)self;
    exits_exec_is_followed(PyObject_IsTrue(is_followed) == 1);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(expect_children_doc, "expect_children($module, /)\n--\n\n"
                                  "Prepare for the results of children; before each one starts.");

static PyObject *lines_expect_children(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    ending_expect_children();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(restart_doc, "restart($module, /)\n--\n\n"
                          "Begin the session of a forked child, which has counted nothing yet.");

static PyObject *lines_restart(PyObject *self, PyObject *unused)
{
    struct result_settings process = {0};
    (void)self, (void)unused;
    describe_process(&process);
    hot_restart();
    account_restart(ticks_now());
    ending_restart(&process);
    (void)!saver_start(FOLLOWED_INTERVAL_NS);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(
    allow_hot_doc,
    "allow_hot($module, n_events, anyway, /)\n--\n\n"
    "Count code by blocks after so many events, even without samples if `anyway`; 0: never.");

static PyObject *lines_allow_hot(PyObject *self, PyObject *args)
{
    unsigned long long n_events;
    int anyway;
    (void)self;
    if (!PyArg_ParseTuple(args, "Kp:allow_hot", &n_events, &anyway))
        return NULL;
    if (n_events == 0)
        hot_forbid();
    else if (hot_allow(n_events, anyway) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(register_doc,
             "register($module, code, source, /)\n--\n\n"
             "Profile a code object from now on; raise ValueError if it has no lines.");

static PyObject *lines_register(PyObject *self, PyObject *args)
{
    PyObject *code;
    struct lines_code *registered;
    unsigned source;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!I:register", &PyCode_Type, &code, &source))
        return NULL;
    registered = registry_find(code);
    if (registered == NULL) {
        registered = code_facts_register((PyCodeObject *)code, source);
        if (registered == NULL)
            return NULL;
        Py_INCREF(code); /* known by its address from now on, so it must stay */
    }
    if (subscribing_complete(registered) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(watch_doc, "watch($module, code, /)\n--\n\n"
                        "Sample this thread in a code object that runs without events; raise\n"
                        "RuntimeError where no samples can be taken.");

static PyObject *lines_watch(PyObject *self, PyObject *code)
{
    struct lines_code *registered;
    const char *why;
    (void)self;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    registered = code_facts_register((PyCodeObject *)code, 0);
    if (registered == NULL)
        return NULL;
    Py_INCREF(code); /* known by its address from now on, so it must stay */
    __atomic_store_n(&registered->is_complete, true, __ATOMIC_RELEASE);
    why = hot_watch(registered);
    if (why != NULL) {
        PyErr_SetString(PyExc_RuntimeError, why);
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(
    hit_rules_doc,
    "hit_rules($module, code, /)\n--\n\n"
    "Return the code units whose LINE event is no hit, those where it is none if their own line\n"
    "was running before, the hits of other lines that it is, and the hits in terms of instruction\n"
    "counts: rows of line, coefficient, code unit, whether completions are meant.");

static PyObject *lines_hit_rules(PyObject *self, PyObject *code)
{
    (void)self;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    if (code_facts_prepare() < 0)
        return NULL;
    return rules_view_describe((PyCodeObject *)code);
}

PyDoc_STRVAR(
    decide_doc,
    "decide($module, select, verdicts, everywhere, /)\n--\n\n"
    "Call select(code, globals) when code that is not profiled starts for the first time:\n"
    "code that awaits its start, or everywhere all code but that of files whose verdict\n"
    "is False. It registers what it wants and returns whether it did.");

static PyObject *lines_decide(PyObject *self, PyObject *args)
{
    PyObject *select, *verdicts;
    int everywhere;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOp:decide", &select, &verdicts, &everywhere) ||
        newcomers_ask(select, verdicts) < 0 || (everywhere && monitor_watch_starts() < 0))
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(
    on_code_change_doc,
    "on_code_change($module, callback, /)\n--\n\n"
    "Call callback(function, code) before a function whose code is profiled gets code that\n"
    "is not.");

static PyObject *lines_on_code_change(PyObject *self, PyObject *callback)
{
    (void)self;
    if (replaced_code_watch(callback) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(is_registered_doc, "is_registered($module, code, /)\n--\n\n"
                                "Tell whether this very code object is being profiled.");

static PyObject *lines_is_registered(PyObject *self, PyObject *code)
{
    const struct lines_code *registered = registry_find(code);
    (void)self;
    return PyBool_FromLong(registered != NULL && subscribing_is_complete(registered));
}

PyDoc_STRVAR(add_source_doc,
             "add_source($module, file, text, /)\n--\n\n"
             "Keep the text of a source file and return its id; 0 if it is too long.");

static PyObject *lines_add_source(PyObject *self, PyObject *args)
{
    const char *file, *text;
    Py_ssize_t file_bytes, text_bytes;
    uint32_t id = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "y#y#:add_source", &file, &file_bytes, &text, &text_bytes))
        return NULL;
    if (text_bytes <= (Py_ssize_t)SOURCE_MAX_BYTES)
        id = registry_add_source(file, (uint32_t)file_bytes, text, (uint32_t)text_bytes);
    return PyLong_FromUnsignedLong(id);
}

PyDoc_STRVAR(add_meta_doc, "add_meta($module, key, value, /)\n--\n\n"
                           "Put a fact about the run into the result.");

static PyObject *lines_add_meta(PyObject *self, PyObject *args)
{
    const char *key, *value;
    Py_ssize_t value_bytes;
    (void)self;
    if (!PyArg_ParseTuple(args, "sy#:add_meta", &key, &value, &value_bytes))
        return NULL;
    if (registry_add_meta(key, value, (uint32_t)value_bytes) < 0)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(finish_doc, "finish($module, /)\n--\n\n"
                         "Write the result and show the report, unless that was done already.");

static PyObject *lines_finish(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    ending_write(); /* with the GIL: no thread counts on meanwhile */
    Py_BEGIN_ALLOW_THREADS ending_report();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyDoc_STRVAR(abandon_doc, "abandon($module, /)\n--\n\n"
                          "End without a result: the program is not going to run.");

static PyObject *lines_abandon(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    Py_BEGIN_ALLOW_THREADS ending_abandon();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", lines_start, METH_VARARGS, start_doc},
    {"open", lines_open, METH_NOARGS, open_doc},
    {"claim", listening_claim, METH_NOARGS, listening_claim_doc},
    {"release", listening_release, METH_NOARGS, listening_release_doc},
    {"silence", listening_silence, METH_O, listening_silence_doc},
    {"wake", listening_wake, METH_O, listening_wake_doc},
    {"save_every", lines_save_every, METH_VARARGS, save_every_doc},
    {"follow_starts", lines_follow_starts, METH_O, follow_starts_doc},
    {"exec_is_followed", lines_exec_is_followed, METH_O, exec_is_followed_doc},
    {"expect_children", lines_expect_children, METH_NOARGS, expect_children_doc},
    {"restart", lines_restart, METH_NOARGS, restart_doc},
    {"allow_hot", lines_allow_hot, METH_VARARGS, allow_hot_doc},
    {"register", lines_register, METH_VARARGS, register_doc},
    {"decide", lines_decide, METH_VARARGS, decide_doc},
    {"await_start", listening_await_start, METH_O, listening_await_start_doc},
    {"watch", lines_watch, METH_O, watch_doc},
    {"hit_rules", lines_hit_rules, METH_O, hit_rules_doc},
    {"on_code_change", lines_on_code_change, METH_O, on_code_change_doc},
    {"is_registered", lines_is_registered, METH_O, is_registered_doc},
    {"add_source", lines_add_source, METH_VARARGS, add_source_doc},
    {"add_meta", lines_add_meta, METH_VARARGS, add_meta_doc},
    {"count_instructions", exactness_count, METH_VARARGS, exactness_doc},
    {"finish", lines_finish, METH_NOARGS, finish_doc},
    {"abandon", lines_abandon, METH_NOARGS, abandon_doc},
    {NULL, NULL, 0, NULL},
};

static int lines_exec(PyObject *module)
{
    if (collector_add_type(module) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "CLOCK", ticks_are_cycles ? "cycles" : "monotonic");
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, lines_exec},
    COMPAT_MODULE_SLOTS{0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "proftrace._lines",
    .m_doc = "The line tracer: receives events and counts, in C.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__lines(void);

PyMODINIT_FUNC PyInit__lines(void)
{
    return PyModuleDef_Init(&definition);
}
