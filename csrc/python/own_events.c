/* own_events.c - see own_events.h. */
#include "python/own_events.h"

#include "lines/registry.h"
#include "python/stand_in.h"

#include <stdbool.h>
#include <string.h>

enum guarded {
    SET_EVENTS,
    SET_LOCAL_EVENTS,
    REGISTER_CALLBACK,
    FREE_TOOL_ID,
    CLEAR_TOOL_ID, /* since 3.14 */
    N_GUARDED
};

static PyObject *real[N_GUARDED]; /* owned */
static PyMethodDef guards[N_GUARDED];
static bool is_installed[N_GUARDED];
static int tool_id = -1;

static bool is_for_us(PyObject *args)
{
    PyObject *id = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
    int overflow;
    return id != NULL && PyLong_Check(id) && PyLong_AsLongAndOverflow(id, &overflow) == tool_id;
}

static void say_interference(const char *function)
{
    static bool is_said;
    if (!is_said)
        is_said = registry_add_meta("interference", function, (uint32_t)strlen(function)) == 0;
}

static PyObject *call(enum guarded which, PyObject *args, PyObject *kwargs)
{
    if (!is_for_us(args))
        return PyObject_Call(real[which], args, kwargs);
    say_interference(guards[which].ml_name);
    Py_RETURN_NONE;
}

static PyObject *guarded_set_events(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return call(SET_EVENTS, args, kwargs);
}

static PyObject *guarded_set_local_events(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return call(SET_LOCAL_EVENTS, args, kwargs);
}

static PyObject *guarded_register_callback(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return call(REGISTER_CALLBACK, args, kwargs);
}

static PyObject *guarded_free_tool_id(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return call(FREE_TOOL_ID, args, kwargs);
}

static PyObject *guarded_clear_tool_id(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return call(CLEAR_TOOL_ID, args, kwargs);
}

static PyMethodDef guards[N_GUARDED] = {
    [SET_EVENTS] = STAND_IN("set_events", guarded_set_events),
    [SET_LOCAL_EVENTS] = STAND_IN("set_local_events", guarded_set_local_events),
    [REGISTER_CALLBACK] = STAND_IN("register_callback", guarded_register_callback),
    [FREE_TOOL_ID] = STAND_IN("free_tool_id", guarded_free_tool_id),
    [CLEAR_TOOL_ID] = STAND_IN("clear_tool_id", guarded_clear_tool_id),
};

int own_events_guard(int our_tool_id)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    tool_id = our_tool_id;
    for (int which = 0; which < N_GUARDED; which++) {
        if (is_installed[which] || !PyObject_HasAttrString(monitoring, guards[which].ml_name))
            continue;
        Py_XSETREF(real[which], stand_in_install(monitoring, &guards[which]));
        if (real[which] == NULL)
            return -1;
        is_installed[which] = true;
    }
    return 0;
}

void own_events_release(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    tool_id = -1;
    for (int which = 0; which < N_GUARDED; which++)
        if (is_installed[which] && stand_in_remove(monitoring, &guards[which], real[which]))
            is_installed[which] = false;
}
