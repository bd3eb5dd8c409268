/*
 * reader_module.c - proftrace._reader: a log file as a dict of columns (bytes), for model/load.py.
 *
 * Ids and lines are arrays of uint32, values arrays of int64, both in the machine's byte order.
 */
#include "python/reader_parts.h"

struct module_state {
    PyObject *read_error; /* owned: the exception class */
};

static struct module_state *state_of(PyObject *module)
{
    return (struct module_state *)PyModule_GetState(module);
}

/* ---- columns ------------------------------------------------------------------------------- */

/* A column of fields inside an array of structs. */
struct field {
    const char *name;
    uint16_t offset;
    uint8_t n_bytes; /* 1 or 4: becomes uint32; 8: int64 */
};

#define FIELD(type, member) {#member, offsetof(type, member), sizeof(((type *)NULL)->member)}

static PyObject *column_object(const void *rows, size_t n, size_t row_bytes,
                               const struct field *field)
{
    size_t out_bytes = field->n_bytes == 8 ? 8 : 4;
    PyObject *column = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * out_bytes));
    const uint8_t *from = (const uint8_t *)rows + field->offset;
    char *to;
    if (column == NULL)
        return NULL;
    to = PyBytes_AS_STRING(column);
    for (size_t i = 0; i < n; i++, from += row_bytes, to += out_bytes) {
        if (field->n_bytes == 1)
            memcpy(to, &(uint32_t){*from}, 4);
        else
            memcpy(to, from, out_bytes);
    }
    return column;
}

/* Puts one dict of columns under `key`. `rows` may be NULL when n is 0. */
static int put_table(PyObject *dict, const char *key, const void *rows, size_t n, size_t row_bytes,
                     const struct field *fields, size_t n_fields)
{
    PyObject *table = PyDict_New();
    static const uint8_t none[1];
    if (table == NULL)
        return -1;
    for (size_t i = 0; i < n_fields; i++) {
        const void *from = rows == NULL ? none : rows;
        if (put(table, fields[i].name, column_object(from, n, row_bytes, &fields[i])) != 0) {
            Py_DECREF(table);
            return -1;
        }
    }
    return put(dict, key, table);
}

#define PUT_TABLE(dict, key, vec, fields)                                            \
    put_table((dict), (key), (vec)->items, (vec)->n, sizeof *(vec)->items, (fields), \
              sizeof(fields) / sizeof(fields)[0])

/* ---- the tables ---------------------------------------------------------------------------- */

static const struct field function_fields[] = {
    FIELD(struct function, name), FIELD(struct function, qualname), FIELD(struct function, file),
    FIELD(struct function, first_line), FIELD(struct function, is_native)};
static const struct field frame_fields[] = {FIELD(struct frame, function),
                                            FIELD(struct frame, line)};
static const struct field stack_fields[] = {FIELD(struct stack_row, parent),
                                            FIELD(struct stack_row, frame)};
static const struct field site_fields[] = {FIELD(struct site, stack), FIELD(struct site, thread),
                                           FIELD(struct site, allocator)};
static const struct field call_fields[] = {FIELD(struct call_row, function),
                                           FIELD(struct call_row, source),
                                           FIELD(struct call_row, regime),
                                           FIELD(struct call_row, reason),
                                           FIELD(struct call_row, calls),
                                           FIELD(struct call_row, yields),
                                           FIELD(struct call_row, inclusive_ns),
                                           FIELD(struct call_row, exclusive_ns),
                                           FIELD(struct call_row, samples),
                                           FIELD(struct call_row, discarded),
                                           FIELD(struct call_row, exclusive_error_ns),
                                           FIELD(struct call_row, inclusive_error_ns)};
static const struct field line_fields[] = {FIELD(struct line_row, function),
                                           FIELD(struct line_row, line),
                                           FIELD(struct line_row, hits),
                                           FIELD(struct line_row, raw_hits),
                                           FIELD(struct line_row, inclusive_ns),
                                           FIELD(struct line_row, exclusive_ns),
                                           FIELD(struct line_row, await_ns),
                                           FIELD(struct line_row, min_ns),
                                           FIELD(struct line_row, max_ns),
                                           FIELD(struct line_row, samples),
                                           FIELD(struct line_row, exclusive_error_ns),
                                           FIELD(struct line_row, inclusive_error_ns),
                                           FIELD(struct line_row, buckets_at),
                                           FIELD(struct line_row, n_buckets)};
static const struct field edge_fields[] = {
    FIELD(struct edge_row, caller),       FIELD(struct edge_row, line),
    FIELD(struct edge_row, callee),       FIELD(struct edge_row, calls),
    FIELD(struct edge_row, inclusive_ns), FIELD(struct edge_row, exclusive_ns)};
static const struct field bucket_fields[] = {{"count", 0, 8}};

static PyObject *strings_object(const struct stacks *stacks)
{
    PyObject *list = PyList_New((Py_ssize_t)stacks->strings.n);
    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < stacks->strings.n; i++) {
        const struct text *text = &stacks->strings.items[i];
        PyObject *item = text_object(text->bytes, text->n_bytes);
        if (item == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

static int put_threads(PyObject *out, const struct built_profile *profile)
{
    static const struct field fields[] = {FIELD(struct rec_thread, tid),
                                          FIELD(struct rec_thread, name)};
    return PUT_TABLE(out, "threads", &profile->log.dict.threads, fields);
}

static int put_values(PyObject *out, const struct built_profile *profile)
{
    static const struct field totals[] = {{"total_bytes", offsetof(struct amount, bytes), 8},
                                          {"total_blocks", offsetof(struct amount, blocks), 8}};
    static const struct field peak[] = {
        {"peak_bytes", offsetof(struct peak_site, at_peak.bytes), 8},
        {"peak_blocks", offsetof(struct peak_site, at_peak.blocks), 8}};
    static const struct field leaks[] = {{"leaked_bytes", offsetof(struct amount, bytes), 8},
                                         {"leaked_blocks", offsetof(struct amount, blocks), 8}};
    static const struct field temporary[] = {
        {"temporary_bytes", offsetof(struct amount, bytes), 8},
        {"temporary_blocks", offsetof(struct amount, blocks), 8}};
    const struct history *history = &profile->history;
    if (PUT_TABLE(out, "temporary_by_site", &history->temporary.sites, temporary) != 0 ||
        PUT_TABLE(out, "samples", &history->sites, site_fields) != 0 ||
        PUT_TABLE(out, "totals_by_site", &history->totals.sites, totals) != 0 ||
        PUT_TABLE(out, "peak_by_site", &history->peak.sites, peak) != 0)
        return -1;
    return PUT_TABLE(out, "leaks_by_site", &history->leaks.sites, leaks);
}

/* The program's own marks, and what changed from one to the next; see reduce.h. */
static int put_marks(PyObject *out, const struct built_profile *profile)
{
    static const struct field rows[] = {FIELD(struct mark_row, mark), FIELD(struct mark_row, site),
                                        FIELD(struct mark_row, bytes),
                                        FIELD(struct mark_row, blocks)};
    const struct reduce_marks *marks = &profile->history.marks;
    PyObject *labels = PyList_New((Py_ssize_t)marks->marks.n);
    if (labels == NULL)
        return -1;
    for (size_t i = 0; i < marks->marks.n; i++) {
        uint32_t row = stacks_string_row(&profile->stacks, marks->marks.items[i].label);
        PyObject *number = PyLong_FromUnsignedLong(row);
        if (number == NULL) {
            Py_DECREF(labels);
            return -1;
        }
        PyList_SET_ITEM(labels, (Py_ssize_t)i, number);
    }
    return put(out, "marks", labels) != 0 ? -1 : PUT_TABLE(out, "at_marks", &marks->rows, rows);
}

static int put_tables(PyObject *out, const struct built_profile *profile)
{
    const struct stacks *stacks = &profile->stacks;
    if (put(out, "strings", strings_object(stacks)) != 0 ||
        PUT_TABLE(out, "functions", &stacks->functions, function_fields) != 0 ||
        PUT_TABLE(out, "frames", &stacks->frames, frame_fields) != 0 ||
        PUT_TABLE(out, "stacks", &stacks->rows, stack_fields) != 0 ||
        PUT_TABLE(out, "calls", &profile->results.calls, call_fields) != 0 ||
        PUT_TABLE(out, "lines", &profile->results.lines, line_fields) != 0 ||
        PUT_TABLE(out, "edges", &profile->results.edges, edge_fields) != 0 ||
        PUT_TABLE(out, "buckets", &profile->results.buckets, bucket_fields) != 0)
        return -1;
    return put_threads(out, profile) != 0 || put_values(out, profile) != 0 ||
                   put_marks(out, profile) != 0
               ? -1
               : 0;
}

/* ---- numbers and texts --------------------------------------------------------------------- */

static int put_header(PyObject *out, const struct log_reader *log)
{
    const struct file_header *header = &log->header;
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"version", header->version},
        {"content", header->content},
        {"options", header->options},
        {"python_hexversion", header->python_hexversion},
        {"start_wall_ns", header->start_wall_ns},
        {"start_mono_ns", header->start_mono_ns},
        {"last_mono_ns", log->last_mono_ns},
        {"pid", header->pid},
        {"ppid", header->ppid},
        {"sample_bytes", header->sample_bytes},
    };
    PyObject *dict = PyDict_New();
    if (dict == NULL)
        return -1;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (put(dict, numbers[i].name, PyLong_FromUnsignedLongLong(numbers[i].value)) != 0) {
            Py_DECREF(dict);
            return -1;
        }
    }
    return put(out, "header", dict);
}

static int put_totals(PyObject *out, const struct built_profile *profile)
{
    const struct reduce_totals *totals = &profile->history.totals;
    const struct amount *leaked = profile->history.leaks.sites.items;
    int64_t leaked_bytes = 0;
    PyObject *dict = PyDict_New();
    for (size_t i = 0; i < profile->history.leaks.sites.n; i++)
        leaked_bytes += leaked[i].bytes;
    if (dict == NULL || put_number(dict, "n_allocations", totals->n_allocations) != 0 ||
        put_number(dict, "n_frees", totals->n_frees) != 0 ||
        put_number(dict, "total_bytes", totals->bytes) != 0 ||
        put_number(dict, "peak_bytes", profile->history.peak.highest.bytes) != 0 ||
        put_number(dict, "leaked_bytes", leaked_bytes) != 0 ||
        put_number(dict, "largest_bytes", totals->largest) != 0 ||
        put_number(dict, "smallest_bytes", totals->smallest) != 0 ||
        put_number(dict, "n_threads", (int64_t)profile->log.dict.threads.n) != 0 ||
        put_number(dict, "n_lost", (int64_t)profile->n_lost) != 0) {
        Py_XDECREF(dict);
        return -1;
    }
    return put(out, "totals", dict);
}

static int put_arenas(PyObject *out, const char *key, const struct arena_state *state)
{
    PyObject *dict = PyDict_New();
    if (dict == NULL || put_number(dict, "arenas", state->arenas) != 0 ||
        put_number(dict, "arena_bytes", state->arena_bytes) != 0 ||
        put_number(dict, "used_bytes", state->used_bytes) != 0 ||
        put_number(dict, "used_blocks", state->used_blocks) != 0) {
        Py_XDECREF(dict);
        return -1;
    }
    return put(out, key, dict);
}

/* Python's allocators, when the capture has their events; else empty. */
static int put_python_heap(PyObject *out, const struct python_heap *heap)
{
    static const char *const names[N_DOMAINS] = {[DOMAIN_NONE] = "unknown",
                                                 [DOMAIN_RAW] = "raw",
                                                 [DOMAIN_MEM] = "mem",
                                                 [DOMAIN_OBJ] = "obj"};
    PyObject *dict = PyDict_New(), *domains = PyDict_New();
    bool failed = dict == NULL || domains == NULL;
    for (int i = 0; i < N_DOMAINS && !failed && heap->traced; i++) {
        const struct amount *amount = &heap->domains[i];
        failed = amount->blocks != 0 &&
                 put(domains, names[i],
                     Py_BuildValue("LL", (long long)amount->bytes, (long long)amount->blocks)) != 0;
    }
    if (!failed && heap->traced)
        failed = put_arenas(dict, "peak", &heap->at_peak) != 0 ||
                 put_arenas(dict, "end", &heap->at_end) != 0 ||
                 PyDict_SetItemString(dict, "domains", domains) != 0;
    Py_XDECREF(domains);
    if (failed) {
        Py_XDECREF(dict);
        return -1;
    }
    return put(out, "python_heap", dict);
}

static int put_histogram(PyObject *out, const struct reduce_totals *totals)
{
    PyObject *list = PyList_New(SIZE_CLASSES);
    if (list == NULL)
        return -1;
    for (int i = 0; i < SIZE_CLASSES; i++) {
        PyObject *count = PyLong_FromLongLong(totals->sizes[i]);
        if (count == NULL) {
            Py_DECREF(list);
            return -1;
        }
        PyList_SET_ITEM(list, i, count);
    }
    return put(out, "size_histogram", list);
}

static int put_meta(PyObject *out, const struct dictionary *tables)
{
    PyObject *dict = PyDict_New();
    if (dict == NULL)
        return -1;
    for (size_t i = 0; i < tables->metas.n; i++) {
        const struct rec_meta *rec = &tables->metas.items[i];
        PyObject *key = text_object(rec->key, rec->key_bytes);
        PyObject *value = text_object(rec->value, rec->value_bytes);
        int failed = key == NULL || value == NULL || PyDict_SetItem(dict, key, value) != 0;
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (failed) {
            Py_DECREF(dict);
            return -1;
        }
    }
    return put(out, "meta", dict);
}

/* A list of (id, row of the file's name, text). */
static int put_sources(PyObject *out, const struct built_profile *profile)
{
    const struct dictionary *tables = &profile->log.dict;
    PyObject *list = PyList_New(0);
    if (list == NULL)
        return -1;
    for (size_t i = 0; i < tables->sources.n; i++) {
        const struct rec_source *rec = &tables->sources.items[i];
        PyObject *item =
            Py_BuildValue("IIN", rec->id, stacks_string_row(&profile->stacks, rec->file),
                          text_object(rec->text, rec->n_bytes));
        int failed = item == NULL || PyList_Append(list, item) != 0;
        Py_XDECREF(item);
        if (failed) {
            Py_DECREF(list);
            return -1;
        }
    }
    return put(out, "sources", list);
}

/* How the log ends, for the warnings. */
static int put_ending(PyObject *out, const struct built_profile *profile)
{
    static const char *const names[] = {
        [LOG_ENDED] = "ended", [LOG_OPEN] = "open", [LOG_CUT] = "cut", [LOG_DAMAGED] = "damaged"};
    const struct log_reader *log = &profile->log;
    const char *name = names[profile->events_damaged ? LOG_DAMAGED : log->ending];
    PyObject *dict = PyDict_New();
    if (dict == NULL || put(dict, "kind", PyUnicode_FromString(name)) != 0 ||
        put(dict, "ring", PyBool_FromLong(log->ring != NULL)) != 0 ||
        put_number(dict, "reason", log->end.reason) != 0 ||
        put_number(dict, "error", log->end.error) != 0 ||
        put_number(dict, "damaged_at", (int64_t)log->damaged_at) != 0 ||
        put_number(dict, "n_missing", (int64_t)log->n_missing) != 0 ||
        put_number(dict, "n_events", (int64_t)profile->history.n_events) != 0 ||
        put_number(dict, "n_events_kept", (int64_t)profile->n_events_kept) != 0 ||
        put(dict, "marked", PyBool_FromLong(profile->history.leaks.marked)) != 0) {
        Py_XDECREF(dict);
        return -1;
    }
    return put(out, "ending", dict);
}

static PyObject *profile_object(const struct built_profile *profile)
{
    PyObject *out = PyDict_New();
    if (out == NULL)
        return NULL;
    if (put_tables(out, profile) != 0 || put_header(out, &profile->log) != 0 ||
        put_totals(out, profile) != 0 || put_histogram(out, &profile->history.totals) != 0 ||
        put_python_heap(out, &profile->history.python_heap) != 0 ||
        reader_put_usage(out, &profile->history.usage) != 0 ||
        put_number(out, "next_log", (int64_t)profile->log.next_log) != 0 ||
        put_number(out, "n_behind", (int64_t)(profile->log.n_bytes - profile->log.good_bytes)) !=
            0 ||
        put_meta(out, &profile->log.dict) != 0 || put_sources(out, profile) != 0 ||
        reader_put_modules(out, &profile->log.dict, profile->hybrids.verdicts.items,
                           profile->hybrids.verdicts.n) != 0 ||
        put_ending(out, profile) != 0) {
        Py_DECREF(out);
        return NULL;
    }
    return out;
}

/* ---- the module ---------------------------------------------------------------------------- */

static const char *const kind_names[] = {[READ_OK] = "ok",
                                         [READ_CANNOT_OPEN] = "cannot-open",
                                         [READ_NOT_A_FILE] = "not-a-file",
                                         [READ_EMPTY] = "empty",
                                         [READ_NOT_OURS] = "not-a-capture",
                                         [READ_CUT] = "cut",
                                         [READ_TOO_NEW] = "too-new",
                                         [READ_BYTE_ORDER] = "byte-order",
                                         [READ_DAMAGED] = "damaged",
                                         [READ_NO_MEMORY] = "no-memory"};

PyObject *reader_raise(PyObject *module, const struct read_error *error)
{
    PyObject *args = Py_BuildValue("(ss)", error->text, kind_names[error->kind]);
    if (args != NULL)
        PyErr_SetObject(state_of(module)->read_error, args);
    Py_XDECREF(args);
    return NULL;
}

PyDoc_STRVAR(
    read_log_doc,
    "read_log(path, start=0, show_native=True)\n--\n\n"
    "Read a log of a file into a dict of columns (bytes). \"next_log\" is where the next one\n"
    "starts, 0 if there is none. Without show_native only the Python frames of hybrid stacks are\n"
    "there. Raise ReadError(message, kind).");

static PyObject *read_log(PyObject *module, PyObject *args)
{
    struct built_profile profile;
    struct read_error error;
    PyObject *path, *out = NULL;
    Py_ssize_t start = 0;
    int failed, show_native = 1;
    if (!PyArg_ParseTuple(args, "O&|np:read_log", PyUnicode_FSConverter, &path, &start,
                          &show_native))
        return NULL;
    Py_BEGIN_ALLOW_THREADS failed =
        profile_build_at(&profile, PyBytes_AS_STRING(path), (size_t)start, show_native, &error);
    Py_END_ALLOW_THREADS if (failed) reader_raise(module, &error);
    else out = profile_object(&profile);
    profile_release(&profile);
    Py_DECREF(path);
    return out;
}

static int module_exec(PyObject *module)
{
    struct module_state *state = state_of(module);
    state->read_error = PyErr_NewExceptionWithDoc(
        "proftrace._reader.ReadError", "A file cannot be read: (message, kind).", NULL, NULL);
    return state->read_error == NULL
               ? -1
               : PyModule_AddObjectRef(module, "ReadError", state->read_error);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    Py_VISIT(state_of(module)->read_error);
    return 0;
}

static int module_clear(PyObject *module)
{
    Py_CLEAR(state_of(module)->read_error);
    return 0;
}

static PyMethodDef methods[] = {
    {"read_log", read_log, METH_VARARGS, read_log_doc},
    {"append_log", reader_append_log, METH_VARARGS, reader_append_log_doc},
    {"symbolize_log", reader_symbolize_log, METH_VARARGS, reader_symbolize_log_doc},
    {0}};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)module_exec},
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "proftrace._reader",
    .m_doc = "Log files as columns; used by proftrace.model.load only.",
    .m_size = sizeof(struct module_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__reader(void);

PyMODINIT_FUNC PyInit__reader(void)
{
    return PyModuleDef_Init(&definition);
}
