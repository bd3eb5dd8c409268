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
