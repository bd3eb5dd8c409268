/* replaced_code.c - see replaced_code.h. */
#include "python/replaced_code.h"

#include "lines/registry.h"

#include <stdbool.h>

static PyObject *tell; /* owned */

static int function_changes(PyFunction_WatchEvent event, PyFunctionObject *function, PyObject *code)
{
    PyObject *exception, *done;
    if (event != PyFunction_EVENT_MODIFY_CODE || code == NULL || !PyCode_Check(code) ||
        registry_find(PyFunction_GET_CODE(function)) == NULL || registry_find(code) != NULL)
        return 0;
    exception = PyErr_GetRaisedException();
    done = PyObject_CallFunctionObjArgs(tell, (PyObject *)function, code, NULL);
    PyErr_Clear();
    Py_XDECREF(done);
    PyErr_SetRaisedException(exception);
    return 0;
}

int replaced_code_watch(PyObject *callback)
{
    bool is_watching = tell != NULL;
    Py_XSETREF(tell, Py_NewRef(callback));
    return is_watching || PyFunction_AddWatcher(function_changes) >= 0 ? 0 : -1;
}
