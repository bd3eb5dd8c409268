/* listening.c - see listening.h. */
#include "python/listening.h"

#include "lines/registry.h"
#include "python/monitor.h"
#include "python/monitor_hot.h"
#include "python/subscribing.h"

const char listening_claim_doc[] =
    "claim($module, /)\n--\n\n"
    "Take a tool id again, after release; RuntimeError if there is none.";

PyObject *listening_claim(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (monitor_start() < 0)
        return NULL;
    Py_RETURN_NONE;
}

const char listening_release_doc[] =
    "release($module, /)\n--\n\n"
    "Give the tool id back until claim, when all code is silenced.";

PyObject *listening_release(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (monitor_release() < 0)
        return NULL;
    Py_RETURN_NONE;
}

const char listening_silence_doc[] =
    "silence($module, code, /)\n--\n\n"
    "Let a code object run without events for now: one that is profiled, or\n"
    "that awaits its start.";

PyObject *listening_silence(PyObject *self, PyObject *code)
{
    struct lines_code *registered = registry_find(code);
    (void)self;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    if (!monitor_is_on())
        Py_RETURN_NONE;
    if (registered != NULL)
        hot_silence(registered);
    else if (monitor_subscribe_local((PyCodeObject *)code, MONITOR_NOTHING) < 0)
        return NULL;
    Py_RETURN_NONE;
}

const char listening_wake_doc[] = "wake($module, code, /)\n--\n\n"
                                  "Let a code object that was silenced be heard again.";

PyObject *listening_wake(PyObject *self, PyObject *code)
{
    int result = 0;
    (void)self;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    if (registry_find(code) == NULL)
        result = subscribing_await_start((PyCodeObject *)code);
    else if (!hot_has(code))
        result = monitor_subscribe((PyCodeObject *)code);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

const char listening_await_start_doc[] =
    "await_start($module, code, /)\n--\n\n"
    "Let a code object be decided about when it starts (decide).";

PyObject *listening_await_start(PyObject *self, PyObject *code)
{
    (void)self;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "a code object is needed");
        return NULL;
    }
    if (monitor_is_on() && subscribing_await_start((PyCodeObject *)code) < 0)
        return NULL;
    Py_RETURN_NONE;
}
