/* other_tools.c - see other_tools.h. */
#include "python/other_tools.h"

#include "python/stand_in.h"

#define N_TOOL_IDS 6 /* that sys.monitoring gives away */

enum announcement { SETTRACE, SETPROFILE, SETTRACE_ALL, SETPROFILE_ALL, USE_TOOL_ID, N_ANNOUNCED };

static PyObject *real[N_ANNOUNCED]; /* owned */
static bool is_installed[N_ANNOUNCED];
static void (*tool_arrives)(enum cold_reason reason);

/* None takes a trace function away. */
static bool sets_something(PyObject *args)
{
    return PyTuple_GET_SIZE(args) > 0 && PyTuple_GET_ITEM(args, 0) != Py_None;
}

static PyObject *announce(enum announcement which, enum cold_reason reason, PyObject *args,
                          PyObject *kwargs)
{
    if (which == USE_TOOL_ID || sets_something(args))
        tool_arrives(reason);
    return PyObject_Call(real[which], args, kwargs);
}

static PyObject *announced_settrace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return announce(SETTRACE, COLD_TRACE, args, kwargs);
}

static PyObject *announced_setprofile(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return announce(SETPROFILE, COLD_TRACE, args, kwargs);
}

static PyObject *announced_settrace_all(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return announce(SETTRACE_ALL, COLD_TRACE, args, kwargs);
}

static PyObject *announced_setprofile_all(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return announce(SETPROFILE_ALL, COLD_TRACE, args, kwargs);
}

static PyObject *announced_use_tool_id(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return announce(USE_TOOL_ID, COLD_TOOL, args, kwargs);
}

static PyMethodDef announcers[N_ANNOUNCED] = {
    [SETTRACE] = STAND_IN("settrace", announced_settrace),
    [SETPROFILE] = STAND_IN("setprofile", announced_setprofile),
    [SETTRACE_ALL] = STAND_IN("_settraceallthreads", announced_settrace_all),
    [SETPROFILE_ALL] = STAND_IN("_setprofileallthreads", announced_setprofile_all),
    [USE_TOOL_ID] = STAND_IN("use_tool_id", announced_use_tool_id),
};

/* In the order of the table, until one fails. */
static int install_announcers(PyObject *sys, PyObject *monitoring)
{
    for (int which = 0; which < N_ANNOUNCED; which++) {
        if (is_installed[which])
            continue;
        Py_XSETREF(real[which],
                   stand_in_install(which == USE_TOOL_ID ? monitoring : sys, &announcers[which]));
        if (real[which] == NULL)
            return -1;
        is_installed[which] = true;
    }
    return 0;
}

void other_tools_ignore(void)
{
    PyObject *sys = PyImport_ImportModule("sys");
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    for (int which = 0; which < N_ANNOUNCED && sys != NULL && monitoring != NULL; which++)
        if (is_installed[which] && stand_in_remove(which == USE_TOOL_ID ? monitoring : sys,
                                                   &announcers[which], real[which]))
            is_installed[which] = false;
    Py_XDECREF(sys);
    PyErr_Clear();
}

/* ---- greenlets ------------------------------------------------------------------------------ */

static bool is_greenlet(PyObject *name, PyObject *module)
{
    return name != NULL && PyUnicode_Check(name) && module != NULL && module != Py_None &&
           PyUnicode_CompareWithASCIIString(name, "greenlet") == 0;
}

/* The package is among the modules before its code runs: there is no greenlet yet. */
static int modules_change(PyDict_WatchEvent event, PyObject *modules, PyObject *name,
                          PyObject *module)
{
    PyObject *exception;
    (void)modules;
    if ((event != PyDict_EVENT_ADDED && event != PyDict_EVENT_MODIFIED) ||
        !is_greenlet(name, module))
        return 0;
    exception = PyErr_GetRaisedException();
    tool_arrives(COLD_STACKS);
    PyErr_SetRaisedException(exception);
    return 0;
}

/* Without a watcher (there are eight), code that gets busy notices. */
static void watch_modules(void)
{
    static bool is_watching;
    int watcher = is_watching ? -1 : PyDict_AddWatcher(modules_change);
    if (is_watching)
        return;
    is_watching = true;
    if (watcher < 0 || PyDict_Watch(watcher, PyImport_GetModuleDict()) < 0)
        PyErr_Clear();
}

/*
 * Frames of a suspended greenlet are in no thread's chain, so it is not known where they stand when
 * counting begins or ends.
 */
static bool has_greenlets(void)
{
    PyObject *name = PyUnicode_FromString("greenlet");
    PyObject *module =
        name == NULL ? NULL : PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
    bool result = is_greenlet(name, module);
    Py_XDECREF(name);
    PyErr_Clear();
    return result;
}

/* ---- what is there -------------------------------------------------------------------------- */

int other_tools_watch(void (*arrives)(enum cold_reason reason))
{
    PyObject *sys = PyImport_ImportModule("sys");
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    int result = sys == NULL || monitoring == NULL ? -1 : 0;
    tool_arrives = arrives;
    if (result == 0)
        result = install_announcers(sys, monitoring);
    Py_XDECREF(sys);
    if (result == 0)
        watch_modules();
    return result;
}

static bool has_other_tool(int our_tool_id)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    bool found = false;
    for (int id = 0; monitoring != NULL && id < N_TOOL_IDS && !found; id++) {
        PyObject *name =
            id == our_tool_id ? NULL : PyObject_CallMethod(monitoring, "get_tool", "i", id);
        found = name != NULL && name != Py_None;
        Py_XDECREF(name);
    }
    PyErr_Clear();
    return found;
}

static bool has_trace_function(void)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; state != NULL; state = PyThreadState_Next(state))
        if (state->c_tracefunc != NULL || state->c_profilefunc != NULL)
            return true;
    return false;
}

/* 3.14 and later say it; what 3.13 can be built with is not for use. */
static bool has_jit(void)
{
    PyObject *jit = PySys_GetObject("_jit"); /* borrowed */
    PyObject *is_enabled = jit == NULL ? NULL : PyObject_CallMethod(jit, "is_enabled", NULL);
    bool result = is_enabled == Py_True;
    Py_XDECREF(is_enabled);
    PyErr_Clear();
    return result;
}

enum cold_reason other_tools_find(int our_tool_id)
{
    if (has_trace_function())
        return COLD_TRACE;
    if (has_other_tool(our_tool_id))
        return COLD_TOOL;
    if (has_greenlets())
        return COLD_STACKS;
    return has_jit() ? COLD_JIT : COLD_UNASKED;
}
