/* ctypes_pointers.c - see ctypes_pointers.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "python/ctypes_pointers.h"

#include "capture/capture.h"

/* How every object of ctypes begins. */
struct ctypes_data {
    PyObject_HEAD void **at; /* what it stands for is here: for a function, its address */
};

static int visit(PyObject *object, void *function_type)
{
    PyTypeObject *type = function_type;
    /* Almost no object is one: the slot tells without a walk over its bases. */
    if (Py_TYPE(object)->tp_call == type->tp_call && PyObject_TypeCheck(object, type)) {
        void **at = ((struct ctypes_data *)object)->at;
        void *hook = at == NULL ? NULL : proftrace_capture_hook_of(*at);
        if (hook != NULL)
            *at = hook;
    }
    return 1;
}

void ctypes_pointers_hook(void)
{
    PyObject *exception = PyErr_GetRaisedException();
    PyObject *name = PyUnicode_FromString("_ctypes");
    PyObject *module = name == NULL ? NULL : PyImport_GetModule(name);
    PyObject *type = module == NULL ? NULL : PyObject_GetAttrString(module, "CFuncPtr");
    if (type != NULL && PyType_Check(type))
        PyUnstable_GC_VisitObjects(visit, type);
    Py_XDECREF(type);
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_SetRaisedException(exception);
}
