/* starts.c - see starts.h. */
#include "python/starts.h"

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

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))
#define FLAGS (METH_VARARGS | METH_KEYWORDS)

static PyMethodDef replacements[N_STARTS] = {
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

static int replace(PyObject *posix, PyObject *os, enum start which)
{
    PyObject *function = make_replacement(posix, which);
    int result = function == NULL ? -1 : 0;
    if (function != NULL && function != Py_None) {
        result = PyObject_SetAttrString(posix, replacements[which].ml_name, function);
        if (result == 0)
            result = PyObject_SetAttrString(os, replacements[which].ml_name, function);
    }
    Py_XDECREF(function);
    return result;
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
            method->ml_meth = METHOD(start_fork_exec);
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
    PyObject *os = PyImport_ImportModule("os");
    PyObject *posix = PyImport_ImportModule("posix");
    int result = os == NULL || posix == NULL ? -1 : 0;
    adjust = Py_NewRef(wanted);
    home = PyInterpreterState_Get();
    for (int which = SPAWN; which < N_STARTS && result == 0; which++)
        result = replace(posix, os, (enum start)which);
    if (result == 0)
        replace_fork_exec();
    Py_XDECREF(os);
    Py_XDECREF(posix);
    return result;
}
