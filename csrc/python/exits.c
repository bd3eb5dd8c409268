/* exits.c - see exits.h. */
#include "python/exits.h"

#include "lines/ending.h"

#include <sys/stat.h>
#include <unistd.h>

enum replaced { EXIT, EXECV, EXECVE, N_REPLACED };

static PyObject *real[N_REPLACED]; /* owned */
static bool exec_stays_followed;

void exits_exec_is_followed(bool is_followed)
{
    exec_stays_followed = is_followed;
}

/* With the GIL until the result is written: what other threads count stands still meanwhile. */
static void end_session(void)
{
    ending_write();
    Py_BEGIN_ALLOW_THREADS ending_report();
    Py_END_ALLOW_THREADS
}

static PyObject *replaced_exit(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char name[] = "status";
    static char *names[] = {name, NULL};
    int status;
    (void)self;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "i:_exit", names, &status))
        end_session();
    PyErr_Clear(); /* the real one says what is wrong */
    return PyObject_Call(real[EXIT], args, kwargs);
}

/* Whether exec can be expected to succeed: os.execvp tries one folder after the other. */
static bool is_program(PyObject *path)
{
    PyObject *bytes = NULL;
    struct stat status;
    bool result = false;
    if (path != NULL && PyUnicode_FSConverter(path, &bytes)) {
        const char *text = PyBytes_AS_STRING(bytes);
        result = stat(text, &status) == 0 && S_ISREG(status.st_mode) && access(text, X_OK) == 0;
        Py_DECREF(bytes);
    }
    PyErr_Clear();
    return result;
}

static PyObject *replaced_exec(enum replaced which, PyObject *args, PyObject *kwargs)
{
    PyObject *path = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL; /* borrowed */
    PyObject *result;
    if (path == NULL && kwargs != NULL)
        path = PyDict_GetItemString(kwargs, "path");
    if (is_program(path)) {
        Py_BEGIN_ALLOW_THREADS ending_before_exec(exec_stays_followed);
        Py_END_ALLOW_THREADS
    }
    result = PyObject_Call(real[which], args, kwargs);
    ending_exec_failed();
    return result;
}

static PyObject *replaced_execv(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return replaced_exec(EXECV, args, kwargs);
}

static PyObject *replaced_execve(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return replaced_exec(EXECVE, args, kwargs);
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef replacements[N_REPLACED] = {
    [EXIT] = {"_exit", METHOD(replaced_exit), METH_VARARGS | METH_KEYWORDS, NULL},
    [EXECV] = {"execv", METHOD(replaced_execv), METH_VARARGS | METH_KEYWORDS, NULL},
    [EXECVE] = {"execve", METHOD(replaced_execve), METH_VARARGS | METH_KEYWORDS, NULL},
};

/* The builtin shows the signature and the documentation of the one it stands for. */
static int borrow_documentation(enum replaced which)
{
    static char texts[N_REPLACED][1024];
    const char *doc =
        PyCFunction_Check(real[which]) ? ((PyCFunctionObject *)real[which])->m_ml->ml_doc : NULL;
    if (doc != NULL) {
        PyOS_snprintf(texts[which], sizeof texts[which], "%s", doc);
        replacements[which].ml_doc = texts[which];
    }
    return 0;
}

static int replace(PyObject *os, PyObject *posix, enum replaced which)
{
    const char *name = replacements[which].ml_name;
    PyObject *module_name, *function;
    int result = -1;
    real[which] = PyObject_GetAttrString(posix, name);
    module_name = PyUnicode_FromString("posix");
    if (real[which] == NULL || module_name == NULL || borrow_documentation(which) < 0)
        return -1;
    function = PyCFunction_NewEx(&replacements[which], posix, module_name);
    if (function != NULL)
        result = PyObject_SetAttrString(posix, name, function) < 0
                     ? -1
                     : PyObject_SetAttrString(os, name, function);
    Py_XDECREF(function);
    Py_DECREF(module_name);
    return result;
}

int exits_install(void)
{
    PyObject *os = PyImport_ImportModule("os");
    PyObject *posix = PyImport_ImportModule("posix");
    int result = 0;
    for (int which = 0; which < N_REPLACED && result == 0; which++)
        result = os == NULL || posix == NULL ? -1 : replace(os, posix, (enum replaced)which);
    Py_XDECREF(os);
    Py_XDECREF(posix);
    return result;
}
