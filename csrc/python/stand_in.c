/* stand_in.c - see stand_in.h. */
#include "python/stand_in.h"

/* The documentation is that of the real function, which lives as long. */
PyObject *stand_in_install(PyObject *module, PyMethodDef *method)
{
    PyObject *real = PyObject_GetAttrString(module, method->ml_name);
    PyObject *name = NULL, *function;
    int result = -1;
    if (real == NULL)
        return NULL;
    if (PyCFunction_Check(real)) {
        method->ml_doc = ((PyCFunctionObject *)real)->m_ml->ml_doc;
        name = Py_XNewRef(((PyCFunctionObject *)real)->m_module);
    }
    function = PyCFunction_NewEx(method, module, name);
    if (function != NULL)
        result = PyObject_SetAttrString(module, method->ml_name, function);
    Py_XDECREF(function);
    Py_XDECREF(name);
    if (result < 0)
        Py_CLEAR(real);
    return real;
}

bool stand_in_remove(PyObject *module, const PyMethodDef *method, PyObject *real)
{
    PyObject *now = PyObject_GetAttrString(module, method->ml_name);
    bool is_ours =
        now != NULL && PyCFunction_Check(now) && ((PyCFunctionObject *)now)->m_ml == method;
    Py_XDECREF(now);
    if (is_ours && PyObject_SetAttrString(module, method->ml_name, real) < 0)
        is_ours = false;
    PyErr_Clear();
    return is_ours;
}

PyObject *stand_in_install_os(PyMethodDef *method)
{
    PyObject *posix = PyImport_ImportModule("posix");
    PyObject *os = posix == NULL ? NULL : PyImport_ImportModule("os");
    PyObject *real = os == NULL ? NULL : stand_in_install(posix, method);
    PyObject *function = real == NULL ? NULL : PyObject_GetAttrString(posix, method->ml_name);
    if (function == NULL || PyObject_SetAttrString(os, method->ml_name, function) < 0)
        Py_CLEAR(real);
    Py_XDECREF(function);
    Py_XDECREF(os);
    Py_XDECREF(posix);
    return real;
}
