/* starts.c - see starts.h. */
#include "python/starts.h"

enum start { FORK_EXEC, SPAWN, SPAWNP, SYSTEM, EXECV, EXECVE, N_STARTS };

static PyObject *real[N_STARTS]; /* owned */
static PyObject *adjust;         /* owned */

static PyObject *call_adjusted(enum start which, const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *adjusted =
        PyObject_CallFunction(adjust, "sOO", name, args, kwargs == NULL ? Py_None : kwargs);
    PyObject *result;
    if (adjusted == NULL)
        PyErr_Clear();
    if (adjusted == NULL || !PyTuple_Check(adjusted) || PyTuple_GET_SIZE(adjusted) != 2 ||
        !PyTuple_Check(PyTuple_GET_ITEM(adjusted, 0))) {
        Py_XDECREF(adjusted);
        return PyObject_Call(real[which], args, kwargs);
    }
    if (which == EXECV && PyTuple_GET_SIZE(PyTuple_GET_ITEM(adjusted, 0)) == 3)
        which = EXECVE; /* it got an environment */
    result = PyObject_Call(real[which], PyTuple_GET_ITEM(adjusted, 0),
                           PyTuple_GET_ITEM(adjusted, 1) == Py_None
                               ? NULL
                               : PyTuple_GET_ITEM(adjusted, 1));
    Py_DECREF(adjusted);
    return result;
}

#define START_FUNCTION(function_, which_, name_)                                      \
    static PyObject *function_(PyObject *self, PyObject *args, PyObject *kwargs)      \
    {                                                                                 \
        (void)self;                                                                   \
        return call_adjusted(which_, name_, args, kwargs);                            \
    }
START_FUNCTION(start_fork_exec, FORK_EXEC, "fork_exec")
START_FUNCTION(start_spawn, SPAWN, "posix_spawn")
START_FUNCTION(start_spawnp, SPAWNP, "posix_spawnp")
START_FUNCTION(start_system, SYSTEM, "system")
START_FUNCTION(start_execv, EXECV, "execv")
START_FUNCTION(start_execve, EXECVE, "execve")

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))
#define FLAGS (METH_VARARGS | METH_KEYWORDS)

static PyMethodDef replacements[N_STARTS] = {
    [FORK_EXEC] = {"fork_exec", METHOD(start_fork_exec), FLAGS, NULL},
    [SPAWN] = {"posix_spawn", METHOD(start_spawn), FLAGS, NULL},
    [SPAWNP] = {"posix_spawnp", METHOD(start_spawnp), FLAGS, NULL},
    [SYSTEM] = {"system", METHOD(start_system), FLAGS, NULL},
    [EXECV] = {"execv", METHOD(start_execv), FLAGS, NULL},
    [EXECVE] = {"execve", METHOD(start_execve), FLAGS, NULL},
};

/* The builtin shows the documentation of the one it stands for, which lives as long. */
static PyObject *make_replacement(PyObject *module, enum start which)
{
    PyMethodDef *method = &replacements[which];
    PyObject *name, *function;
    real[which] = PyObject_GetAttrString(module, method->ml_name);
    if (real[which] == NULL) {
        PyErr_Clear(); /* this system does not have it */
        return Py_NewRef(Py_None);
    }
    if (PyCFunction_Check(real[which]))
        method->ml_doc = ((PyCFunctionObject *)real[which])->m_ml->ml_doc;
    name = PyObject_GetAttrString(module, "__name__");
    function = name == NULL ? NULL : PyCFunction_NewEx(method, module, name);
    Py_XDECREF(name);
    return function;
}

static int replace(PyObject *module, PyObject *second, enum start which)
{
    PyObject *function = make_replacement(module, which);
    int result = function == NULL ? -1 : 0;
    if (function != NULL && function != Py_None) {
        result = PyObject_SetAttrString(module, replacements[which].ml_name, function);
        if (result == 0 && second != NULL)
            result = PyObject_SetAttrString(second, replacements[which].ml_name, function);
    }
    Py_XDECREF(function);
    return result;
}

int starts_install(PyObject *wanted)
{
    PyObject *os = PyImport_ImportModule("os");
    PyObject *posix = PyImport_ImportModule("posix");
    PyObject *subprocess = PyImport_ImportModule("_posixsubprocess");
    int result = os == NULL || posix == NULL ? -1 : 0;
    adjust = Py_NewRef(wanted);
    if (subprocess == NULL)
        PyErr_Clear();
    else if (result == 0)
        result = replace(subprocess, NULL, FORK_EXEC);
    for (int which = SPAWN; which < N_STARTS && result == 0; which++)
        result = replace(posix, os, (enum start)which);
    Py_XDECREF(os);
    Py_XDECREF(posix);
    Py_XDECREF(subprocess);
    return result;
}
