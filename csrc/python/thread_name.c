/* thread_name.c - see thread_name.h. */
#include "python/thread_name.h"

#include "python/compat.h"

#include <string.h>

/* The attribute as it is stored: a property of a subclass is the program's own code. */
static PyObject *stored_attribute(PyObject *object, const char *name)
{
    PyObject *text = PyUnicode_FromString(name);
    PyObject *value = text == NULL ? NULL : PyObject_GenericGetAttr(object, text);
    Py_XDECREF(text);
    return value;
}

static bool copy_name(PyObject *name, char *to, size_t n_bytes)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    size_t n = (size_t)length;
    if (text == NULL || n == 0)
        return false;
    if (n >= n_bytes)
        for (n = n_bytes - 1; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    memcpy(to, text, n);
    to[n] = '\0';
    return true;
}

static bool name_from(PyFrameObject *frame, char *name, size_t n_bytes)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool is_start = PyUnicode_CompareWithASCIIString(code->co_qualname, "Thread.start") == 0;
    PyObject *thread = is_start ? PyFrame_GetVarString(frame, "self") : NULL;
    PyObject *text = thread == NULL ? NULL : stored_attribute(thread, "_name");
    bool found = text != NULL && PyUnicode_Check(text) && copy_name(text, name, n_bytes);
    Py_DECREF(code);
    Py_XDECREF(thread);
    Py_XDECREF(text);
    return found;
}

bool thread_name_starting(char *name, size_t n_bytes)
{
    PyThreadState *state = compat_attached_state();
    PyObject *error;
    PyFrameObject *frame;
    bool found = false;
    if (state == NULL)
        return false;
    error = PyErr_GetRaisedException();
    frame = PyThreadState_GetFrame(state);
    if (frame != NULL)
        found = name_from(frame, name, n_bytes);
    Py_XDECREF(frame);
    PyErr_SetRaisedException(error); /* ours, if any, is forgotten */
    return found;
}
