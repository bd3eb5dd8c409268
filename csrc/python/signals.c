/* signals.c - see signals.h. */
#include "python/signals.h"

#include "lines/sample.h"
#include "python/stand_in.h"

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
        real[which] = stand_in_install(module, &replacements[which]);
    PyErr_Clear();
    Py_XDECREF(module);
    PyErr_SetRaisedException(exception);
}
