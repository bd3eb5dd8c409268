/* lines_module.c - the module proftrace._lines: the line tracer inside the target. */
#include "python/compat.h"

#include "base/ticks.h"
#include "format/record.h"
#include "lines/account.h"
#include "lines/ending.h"
#include "python/calibration.h"
#include "python/code_facts.h"
#include "python/exactness.h"
#include "python/exits.h"
#include "python/monitor.h"
#include "python/monitor_hot.h"
#include "python/newcomers.h"
#include "python/rules_view.h"

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

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
    account_after_fork();
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

PyDoc_STRVAR(start_doc,
             "start($module, output, temporary, report, environ, quiet, has_targets, /)\n--\n\n"
             "Claim a tool id and begin the session of this process; may be called once.");

static PyObject *lines_start(PyObject *self, PyObject *args)
{
    const char *output, *temporary;
    PyObject *report, *environ;
    int quiet, has_targets;
    struct ending_settings settings = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "yyOOpp:start", &output, &temporary, &report, &environ, &quiet,
                          &has_targets))
        return NULL;
    settings.result.path = registry_copy(output, strlen(output));
    settings.result.temporary = registry_copy(temporary, strlen(temporary));
    if (settings.result.path == NULL || settings.result.temporary == NULL)
        return PyErr_NoMemory();
    if (report != Py_None && (settings.report = copy_strings(report)) == NULL)
        return NULL;
    if ((settings.environ = copy_strings(environ)) == NULL)
        return NULL;
    settings.quiet = quiet;
    settings.has_targets = has_targets;
    if (code_facts_prepare() < 0 || monitor_start() < 0 || exits_install() < 0)
        return NULL;
    describe_process(&settings.result);
    if (calibration_run(&settings.result.start) < 0)
        return NULL;
    pthread_atfork(NULL, NULL, after_fork_in_child);
    ending_prepare(&settings);
    ending_watch_signals();
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
    unsigned source;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!I:register", &PyCode_Type, &code, &source))
        return NULL;
    if (registry_find(code) == NULL) {
        if (code_facts_register((PyCodeObject *)code, source) == NULL)
            return NULL;
        Py_INCREF(code); /* known by its address from now on, so it must stay */
        if (monitor_subscribe((PyCodeObject *)code) < 0)
            return NULL;
    }
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
    "Return the code units whose LINE event is no hit, and the hits in terms of instruction\n"
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

PyDoc_STRVAR(decide_doc,
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

PyDoc_STRVAR(await_start_doc, "await_start($module, code, /)\n--\n\n"
                              "Let a code object be decided about when it starts (decide).");

static PyObject *lines_await_start(PyObject *self, PyObject *code)
{
    (void)self;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    if (registry_find(code) != NULL)
        Py_RETURN_NONE;
    if ((newcomers_were_dismissed(code) && newcomers_recall() < 0) ||
        monitor_subscribe_local((PyCodeObject *)code, MONITOR_START) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(is_registered_doc, "is_registered($module, code, /)\n--\n\n"
                                "Tell whether this very code object is being profiled.");

static PyObject *lines_is_registered(PyObject *self, PyObject *code)
{
    (void)self;
    return PyBool_FromLong(registry_find(code) != NULL);
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

static PyMethodDef methods[] = {
    {"start", lines_start, METH_VARARGS, start_doc},
    {"allow_hot", lines_allow_hot, METH_VARARGS, allow_hot_doc},
    {"register", lines_register, METH_VARARGS, register_doc},
    {"decide", lines_decide, METH_VARARGS, decide_doc},
    {"await_start", lines_await_start, METH_O, await_start_doc},
    {"watch", lines_watch, METH_O, watch_doc},
    {"hit_rules", lines_hit_rules, METH_O, hit_rules_doc},
    {"is_registered", lines_is_registered, METH_O, is_registered_doc},
    {"add_source", lines_add_source, METH_VARARGS, add_source_doc},
    {"add_meta", lines_add_meta, METH_VARARGS, add_meta_doc},
    {"count_instructions", exactness_count, METH_VARARGS, exactness_doc},
    {"finish", lines_finish, METH_NOARGS, finish_doc},
    {NULL, NULL, 0, NULL},
};

static int lines_exec(PyObject *module)
{
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
