/* reader_usage.c - the size of the process in what proftrace._reader returns. */
#include "python/reader_parts.h"

static const char *const field_names[USAGE_FIELDS] = {
    [USAGE_ANONYMOUS] = "anonymous",
    [USAGE_FILE] = "file",
    [USAGE_SHARED] = "shared",
    [USAGE_HEAP] = "heap",
    [USAGE_HEAP_FREE] = "heap_free",
    [USAGE_ARENAS] = "arenas",
    [USAGE_ARENA_TOUCHED] = "arena_touched",
    [USAGE_ARENA_USED] = "arena_used",
    [USAGE_OWN_ANONYMOUS] = "own_anonymous",
    [USAGE_OWN_SHARED] = "own_shared",
};

/* Fields that were never told are left out. */
static PyObject *row_object(const struct usage_row *row)
{
    PyObject *dict = PyDict_New();
    bool failed = dict == NULL || put_number(dict, "time_us", row->time_us) != 0 ||
                  put_number(dict, "live_bytes", row->live_bytes) != 0 ||
                  put_number(dict, "live_blocks", row->live_blocks) != 0 ||
                  put_number(dict, "mapped_bytes", row->mapped_bytes) != 0 ||
                  put_number(dict, "arena_bytes", row->arena_bytes) != 0;
    for (unsigned i = 0; i < USAGE_FIELDS && !failed; i++)
        failed =
            (row->known >> i & 1) != 0 && put_number(dict, field_names[i], row->fields[i]) != 0;
    if (!failed)
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

int reader_put_usage(PyObject *out, const struct reduce_usage *usage)
{
    PyObject *dict = PyDict_New(), *rows = PyList_New((Py_ssize_t)usage->rows.n);
    bool failed = dict == NULL || rows == NULL;
    for (size_t i = 0; i < usage->rows.n && !failed; i++) {
        PyObject *row = row_object(&usage->rows.items[i]);
        failed = row == NULL;
        if (!failed)
            PyList_SET_ITEM(rows, (Py_ssize_t)i, row);
    }
    if (!failed && usage->n_taken != 0)
        failed = put(dict, "peak", row_object(&usage->highest)) != 0 ||
                 put(dict, "end", row_object(&usage->at_end)) != 0 ||
                 put_number(dict, "n_taken", (int64_t)usage->n_taken) != 0 ||
                 PyDict_SetItemString(dict, "rows", rows) != 0;
    Py_XDECREF(rows);
    if (failed) {
        Py_XDECREF(dict);
        return -1;
    }
    return put(out, "usage", dict);
}
