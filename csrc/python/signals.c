/* signals.c - see signals.h. */
#include "python/signals.h"

#include "lines/sample.h"

#include <stdbool.h>

enum replaced { SIGNAL, PTHREAD_SIGMASK, N_REPLACED };

static PyObject *real[N_REPLACED]; /* owned */

static PyObject *replaced_signal(PyObject *self, PyObject *args)
{
    (void)self;
    if (PyTuple_GET_SIZE(args) == 2) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(args, 0));
        if (number > 0 && number < 65)
            sample_spare_signal((int)number);
        PyErr_Clear(); /* the real one says what is wrong */
    }
    return PyObject_Call(real[SIGNAL], args, NULL);
}

static PyObject *replaced_pthread_sigmask(PyObject *self, PyObject *args)
{
    PyObject *before;
    (void)self;
    sample_mask_changes();
    before = PyObject_Call(real[PTHREAD_SIGMASK], args, NULL);
    sample_mask_changed();
    return before;
}

static PyMethodDef replacements[N_REPLACED] = {
    [SIGNAL] = {"signal", replaced_signal, METH_VARARGS, NULL},
    [PTHREAD_SIGMASK] = {"pthread_sigmask", replaced_pthread_sigmask, METH_VARARGS, NULL},
};

/* The builtin shows the signature and the documentation of the one it stands for. */
static void borrow_documentation(enum replaced which)
{
    if (PyCFunction_Check(real[which]))
        replacements[which].ml_doc = ((PyCFunctionObject *)real[which])->m_ml->ml_doc;
}

static int replace(PyObject *module, enum replaced which)
{
    const char *name = replacements[which].ml_name;
    PyObject *module_name = PyUnicode_FromString("_signal");
    PyObject *function = NULL;
    int result = -1;
    real[which] = PyObject_GetAttrString(module, name);
    if (real[which] != NULL && module_name != NULL) {
        borrow_documentation(which);
        function = PyCFunction_NewEx(&replacements[which], module, module_name);
    }
    if (function != NULL)
        result = PyObject_SetAttrString(module, name, function);
    Py_XDECREF(function);
    Py_XDECREF(module_name);
    return result;
}

void signals_install(void)
{
    static bool is_installed;
    PyObject *exception, *module;
    if (is_installed)
        return;
    is_installed = true;
    exception = PyErr_GetRaisedException(); /* a callback leaves it as it was */
    module = PyImport_ImportModule("_signal");
    for (int which = 0; which < N_REPLACED && module != NULL; which++)
        if (replace(module, (enum replaced)which) < 0)
            PyErr_Clear();
    PyErr_Clear();
    Py_XDECREF(module);
    PyErr_SetRaisedException(exception);
}
