/* reader_logs.c - the functions of proftrace._reader that write logs again. */
#include "python/reader_parts.h"

int reader_put_modules(PyObject *out, const struct dictionary *tables, const uint8_t *verdicts,
                       size_t n_verdicts)
{
    static const char *const names[] = {[MODULE_MISSING] = "missing",
                                        [MODULE_REPLACED] = "replaced",
                                        [MODULE_UNREADABLE] = "unreadable"};
    PyObject *list = PyList_New(0);
    if (list == NULL)
        return -1;
    for (size_t id = 1; id < n_verdicts; id++) {
        uint32_t path = tables->modules.items[id].path;
        const struct text *text = &tables->strings.items[path < tables->strings.n ? path : 0];
        PyObject *item;
        int failed;
        if (verdicts[id] <= MODULE_FOUND + 1)
            continue;
        item =
            Py_BuildValue("Ns", text_object(text->bytes, text->n_bytes), names[verdicts[id] - 1]);
        failed = item == NULL || PyList_Append(list, item) != 0;
        Py_XDECREF(item);
        if (failed) {
            Py_DECREF(list);
            return -1;
        }
    }
    return put(out, "modules", list);
}

const char reader_append_log_doc[] = PyDoc_STR(
    "append_log(path, start, descriptor)\n--\n\n"
    "Write the log at an offset of a file, with what its ring holds, to a descriptor.\n"
    "Return the offset of the next log, 0 behind the last. Raise ReadError(message, kind).");

PyObject *reader_append_log(PyObject *module, PyObject *args)
{
    struct log_reader log;
    struct read_error error;
    PyObject *path, *out = NULL;
    Py_ssize_t start;
    int fd, failed;
    if (!PyArg_ParseTuple(args, "O&ni:append_log", PyUnicode_FSConverter, &path, &start, &fd))
        return NULL;
    Py_BEGIN_ALLOW_THREADS failed =
        profile_open_log(&log, PyBytes_AS_STRING(path), (size_t)start, &error);
    if (failed == 0)
        failed = bundle_write(&log, NULL, fd, &error);
    Py_END_ALLOW_THREADS if (failed) reader_raise(module, &error);
    else out = PyLong_FromSize_t(log.next_log);
    log_reader_release(&log);
    Py_DECREF(path);
    return out;
}

const char reader_symbolize_log_doc[] =
    PyDoc_STR("symbolize_log(path, start, descriptor)\n--\n\n"
              "Write a log of a file with the names of its native code to a descriptor. Return a\n"
              "dict: pid, options, next_log, modules, ended, n_addresses and n_found.\n"
              "Raise ReadError(message, kind).");

static PyObject *symbolized_object(const struct log_reader *log,
                                   const struct stored_symbols *symbols)
{
    PyObject *out = PyDict_New();
    if (out == NULL)
        return NULL;
    if (put_number(out, "pid", log->header.pid) != 0 ||
        put_number(out, "options", log->header.options) != 0 ||
        reader_put_modules(out, &log->dict, symbols->verdicts.items, symbols->verdicts.n) != 0 ||
        put_number(out, "next_log", (int64_t)log->next_log) != 0 ||
        put_number(out, "ended", log->ending == LOG_ENDED) != 0 ||
        put_number(out, "n_addresses", (int64_t)symbols->n_addresses) != 0 ||
        put_number(out, "n_found", (int64_t)symbols->n_found) != 0) {
        Py_DECREF(out);
        return NULL;
    }
    return out;
}

PyObject *reader_symbolize_log(PyObject *module, PyObject *args)
{
    struct log_reader log;
    struct stored_symbols symbols = {0};
    struct read_error error;
    PyObject *path, *out = NULL;
    Py_ssize_t start;
    int fd, failed;
    if (!PyArg_ParseTuple(args, "O&ni:symbolize_log", PyUnicode_FSConverter, &path, &start, &fd))
        return NULL;
    Py_BEGIN_ALLOW_THREADS failed =
        profile_open_log(&log, PyBytes_AS_STRING(path), (size_t)start, &error);
    if (failed == 0 && stored_symbols_find(&symbols, &log.dict) != 0)
        failed = read_fail_memory(&error);
    if (failed == 0)
        failed = bundle_write(&log, &symbols, fd, &error);
    Py_END_ALLOW_THREADS if (failed) reader_raise(module, &error);
    else out = symbolized_object(&log, &symbols);
    stored_symbols_release(&symbols);
    log_reader_release(&log);
    Py_DECREF(path);
    return out;
}
