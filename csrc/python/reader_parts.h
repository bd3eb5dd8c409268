/* reader_parts.h - what the files of the module proftrace._reader share. */
#ifndef PROFTRACE_PYTHON_READER_PARTS_H
#define PROFTRACE_PYTHON_READER_PARTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "profile/build.h"
#include "profile/bundle.h"

/* Puts a new reference into a dict and drops it; a NULL value is an error already set. */
static inline int put(PyObject *dict, const char *key, PyObject *value)
{
    int failed;
    if (value == NULL)
        return -1;
    failed = PyDict_SetItemString(dict, key, value);
    Py_DECREF(value);
    return failed;
}

static inline int put_number(PyObject *dict, const char *key, int64_t value)
{
    return put(dict, key, PyLong_FromLongLong(value));
}

/* Texts are UTF-8 with lone surrogates; bytes that are neither come from a damaged log. */
static inline PyObject *text_object(const char *bytes, uint32_t n_bytes)
{
    PyObject *text = PyUnicode_DecodeUTF8(n_bytes == 0 ? "" : bytes, n_bytes, "surrogatepass");
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        PyErr_Clear();
        text = PyUnicode_DecodeUTF8(bytes, n_bytes, "replace");
    }
    return text;
}

/* Sets ReadError(message, kind) of the module; returns NULL. */
PyObject *reader_raise(PyObject *module, const struct read_error *error);

/*
 * Puts "modules": a list of (path, "missing" | "replaced" | "unreadable") of those whose symbols
 * were looked for in vain. `verdicts` is by module id, as in struct hybrids.
 */
int reader_put_modules(PyObject *out, const struct dictionary *tables, const uint8_t *verdicts,
                       size_t n_verdicts);

/* Puts "usage": a dict, empty where the capture does not tell. */
int reader_put_usage(PyObject *out, const struct reduce_usage *usage);

/* Functions of the module. */
extern const char reader_append_log_doc[], reader_symbolize_log_doc[];
PyObject *reader_append_log(PyObject *module, PyObject *args);
PyObject *reader_symbolize_log(PyObject *module, PyObject *args);

#endif
