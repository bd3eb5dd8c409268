/* exits.c - see exits.h. */
#include "python/exits.h"

#include "lines/ending.h"
#include "python/stand_in.h"

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

static PyMethodDef replacements[N_REPLACED] = {
    [EXIT] = STAND_IN("_exit", replaced_exit),
    [EXECV] = STAND_IN("execv", replaced_execv),
    [EXECVE] = STAND_IN("execve", replaced_execve),
};

int exits_install(void)
{
    for (int which = 0; which < N_REPLACED; which++) {
        real[which] = stand_in_install_os(&replacements[which]);
        if (real[which] == NULL)
            return -1;
    }
    return 0;
}
