/* starts.c - see starts.h. */
#include "python/starts.h"

#include "python/stand_in.h"

#include <stdbool.h>

enum start { SPAWN, SPAWNP, SYSTEM, EXECV, EXECVE, N_STARTS };

static PyObject *real[N_STARTS]; /* owned */
static PyObject *adjust;         /* owned */
static PyInterpreterState *home; /* to which `adjust` belongs */

/* Return a new tuple of arguments and keywords, or NULL: then the program's own are taken. */
static PyObject *adjust_call(const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *adjusted =
        PyObject_CallFunction(adjust, "sOO", name, args, kwargs == NULL ? Py_None : kwargs);
    if (adjusted == NULL)
        PyErr_Clear();
    if (adjusted == NULL || !PyTuple_Check(adjusted) || PyTuple_GET_SIZE(adjusted) != 2 ||
        !PyTuple_Check(PyTuple_GET_ITEM(adjusted, 0)))
        Py_CLEAR(adjusted);
    return adjusted;
}

static PyObject *call_adjusted(enum start which, const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *adjusted = adjust_call(name, args, kwargs);
    PyObject *result;
    if (adjusted == NULL)
        return PyObject_Call(real[which], args, kwargs);
    if (which == EXECV && PyTuple_GET_SIZE(PyTuple_GET_ITEM(adjusted, 0)) == 3)
        which = EXECVE; /* it got an environment */
    result = PyObject_Call(
        real[which], PyTuple_GET_ITEM(adjusted, 0),
        PyTuple_GET_ITEM(adjusted, 1) == Py_None ? NULL : PyTuple_GET_ITEM(adjusted, 1));
    Py_DECREF(adjusted);
    return result;
}

#define START_FUNCTION(function_, which_, name_)                                 \
    static PyObject *function_(PyObject *self, PyObject *args, PyObject *kwargs) \
    {                                                                            \
        (void)self;                                                              \
        return call_adjusted(which_, name_, args, kwargs);                       \
    }
START_FUNCTION(start_spawn, SPAWN, "posix_spawn")
START_FUNCTION(start_spawnp, SPAWNP, "posix_spawnp")
START_FUNCTION(start_system, SYSTEM, "system")
START_FUNCTION(start_execv, EXECV, "execv")
START_FUNCTION(start_execve, EXECVE, "execve")

static PyMethodDef replacements[N_STARTS] = {
    [SPAWN] = STAND_IN("posix_spawn", start_spawn),
    [SPAWNP] = STAND_IN("posix_spawnp", start_spawnp),
    [SYSTEM] = STAND_IN("system", start_system),
    [EXECV] = STAND_IN("execv", start_execv),
    [EXECVE] = STAND_IN("execve", start_execve),
};

static int replace(enum start which)
{
    real[which] = stand_in_install_os(&replacements[which]);
    if (real[which] != NULL)
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear(); /* this system does not have it */
    return 0;
}

/* ---- _posixsubprocess.fork_exec ------------------------------------------------------------ */

/*
 * A plain program has no _posixsubprocess before it starts the first child, and a module put back
 * out of sys.modules is made anew by the next import. Its table of methods stays, however, so that
 * is where the function changes.
 */
typedef PyObject *(*fast_function)(PyObject *, PyObject *const *, Py_ssize_t);
static fast_function real_fork_exec;

static PyObject *start_fork_exec(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *tuple = NULL, *adjusted = NULL, *result;
    if (PyInterpreterState_Get() == home) {
        tuple = PyTuple_New(n_args);
        for (Py_ssize_t i = 0; tuple != NULL && i < n_args; i++)
            PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
        adjusted = tuple == NULL ? NULL : adjust_call("fork_exec", tuple, NULL);
    }
    if (adjusted != NULL) {
        PyObject *wanted = PyTuple_GET_ITEM(adjusted, 0);
        result = real_fork_exec(self, &PyTuple_GET_ITEM(wanted, 0), PyTuple_GET_SIZE(wanted));
    } else {
        PyErr_Clear();
        result = real_fork_exec(self, args, n_args);
    }
    Py_XDECREF(adjusted);
    Py_XDECREF(tuple);
    return result;
}

static void replace_in_table(PyObject *module)
{
    PyModuleDef *definition = PyModule_GetDef(module); /* borrowed */
    PyMethodDef *method = definition == NULL ? NULL : definition->m_methods;
    for (; method != NULL && method->ml_name != NULL; method++)
        if (strcmp(method->ml_name, "fork_exec") == 0 && method->ml_flags == METH_FASTCALL) {
            real_fork_exec = (fast_function)(void (*)(void))method->ml_meth;
            method->ml_meth = (PyCFunction)(void (*)(void))start_fork_exec;
        }
}

static void replace_fork_exec(void)
{
    const char *name = "_posixsubprocess";
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    bool was_there = PyDict_GetItemString(modules, name) != NULL;
    PyObject *module = PyImport_ImportModule(name);
    if (module != NULL)
        replace_in_table(module);
    Py_XDECREF(module);
    if (module != NULL && !was_there)
        (void)PyDict_DelItemString(modules, name);
    PyErr_Clear(); /* without it no child is started by it */
}

int starts_install(PyObject *wanted)
{
    adjust = Py_NewRef(wanted);
    home = PyInterpreterState_Get();
    for (int which = SPAWN; which < N_STARTS; which++)
        if (replace((enum start)which) < 0)
            return -1;
    replace_fork_exec();
    return 0;
}
