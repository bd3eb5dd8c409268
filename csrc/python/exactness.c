/* exactness.c - see exactness.h. */
#include "python/exactness.h"

#include "python/code_facts.h"
#include "python/counting.h"

const char exactness_doc[] =
    "count_instructions($module, codes, run, derive, /)\n--\n\n"
    "Call `run()` and return how often the instructions of the code objects ran: for each of them\n"
    "the counts as bytes (native int64; 0 for what cannot be counted), then how many events it\n"
    "took and how many exceptions were seen. With `derive`, only what blocks need is counted.";

struct counting_callback {
    PyObject_HEAD vectorcallfunc call;
    const struct counters_table *table; /* borrowed */
    PyObject *disable;                  /* borrowed: sys.monitoring.DISABLE */
};

/* One measurement. */
struct measurement {
    struct counters_table table;
    PyObject *monitoring; /* borrowed */
    PyObject *disable;    /* owned */
    PyObject *codes;      /* owned: a list or tuple */
    int tool_id;          /* -1: none claimed */
    long instruction_event;
    long raise_event;
};

static PyObject *on_instruction(PyObject *self, PyObject *const *args, size_t nargsf,
                                PyObject *kwnames)
{
    const struct counting_callback *callback = (const struct counting_callback *)self;
    (void)nargsf, (void)kwnames;
    if (likely(counting_pass(callback->table, args)))
        Py_RETURN_NONE;
    return Py_NewRef(callback->disable);
}

static PyObject *on_raise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)nargsf, (void)kwnames;
    counting_raise(((const struct counting_callback *)self)->table, args);
    Py_RETURN_NONE;
}

static PyTypeObject counting_callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "proftrace._lines.counting_callback",
    .tp_basicsize = sizeof(struct counting_callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(struct counting_callback, call),
    .tp_call = PyVectorcall_Call,
};

/* Drops the result of a call: 0, or -1 with an exception set. */
static int done(PyObject *result)
{
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static int install(struct measurement *m, PyObject *events, const char *name, vectorcallfunc call,
                   long *event)
{
    PyObject *number = PyObject_GetAttrString(events, name);
    struct counting_callback *callback = NULL;
    int result = -1;
    if (number != NULL)
        callback = PyObject_New(struct counting_callback, &counting_callback_type);
    if (callback != NULL) {
        callback->call = call;
        callback->table = &m->table;
        callback->disable = m->disable;
        *event = PyLong_AsLong(number);
        result = done(PyObject_CallMethod(m->monitoring, "register_callback", "iOO", m->tool_id,
                                          number, callback));
    }
    Py_XDECREF(callback);
    Py_XDECREF(number);
    return result;
}

static int claim_tool(struct measurement *m)
{
    for (int id = 5; id >= 0; id--) {
        if (done(PyObject_CallMethod(m->monitoring, "use_tool_id", "is", id, "lprof check")) == 0) {
            m->tool_id = id;
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear(); /* in use */
    }
    PyErr_SetString(PyExc_RuntimeError, "all ids of sys.monitoring are in use");
    return -1;
}

static int add_code(struct measurement *m, PyObject *code, enum counters_kind kind)
{
    struct code_reading reading = {0};
    struct counters *counters = NULL;
    long mask = m->instruction_event | (COMPAT_HAS_LOCAL_UNWIND ? m->raise_event : 0);
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "code objects are needed");
        return -1;
    }
    if (counters_find(&m->table, code)->key != NULL)
        return 0;
    if (code_facts_read(&reading, (PyCodeObject *)code) < 0)
        return -1;
    counters = counters_make(&m->table, code, &reading.list, NULL, NULL, kind);
    code_facts_release(&reading);
    if (counters == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    counters_put(&m->table, counters);
    if (!blocks_plan_is_valid(&counters->plan)) {
        PyErr_SetString(PyExc_AssertionError, "the plan of a code object is wrong");
        return -1;
    }
    return done(
        PyObject_CallMethod(m->monitoring, "set_local_events", "iOl", m->tool_id, code, mask));
}

static int measurement_start(struct measurement *m, enum counters_kind kind)
{
    PyObject *events = PyObject_GetAttrString(m->monitoring, "events");
    int result = -1;
    if (events == NULL || claim_tool(m) < 0 ||
        install(m, events, "INSTRUCTION", on_instruction, &m->instruction_event) < 0 ||
        install(m, events, "RAISE", on_raise, &m->raise_event) < 0)
        goto done;
    if (!COMPAT_HAS_LOCAL_UNWIND && done(PyObject_CallMethod(m->monitoring, "set_events", "il",
                                                             m->tool_id, m->raise_event)) < 0)
        goto done;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(m->codes); i++)
        if (add_code(m, PySequence_Fast_GET_ITEM(m->codes, i), kind) < 0)
            goto done;
    result = 0;
done:
    Py_XDECREF(events);
    return result;
}

/* Takes everything back; an exception that is set stays set. */
static void measurement_stop(struct measurement *m)
{
    PyObject *raised = PyErr_GetRaisedException();
    bool failed = false;
    if (m->tool_id >= 0) {
        failed |= done(PyObject_CallMethod(m->monitoring, "set_events", "ii", m->tool_id, 0)) < 0;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(m->codes); i++)
            failed |= done(PyObject_CallMethod(m->monitoring, "set_local_events", "iOi", m->tool_id,
                                               PySequence_Fast_GET_ITEM(m->codes, i), 0)) < 0;
        failed |= done(PyObject_CallMethod(m->monitoring, "register_callback", "ilO", m->tool_id,
                                           m->instruction_event, Py_None)) < 0;
        failed |= done(PyObject_CallMethod(m->monitoring, "register_callback", "ilO", m->tool_id,
                                           m->raise_event, Py_None)) < 0;
        failed |= done(PyObject_CallMethod(m->monitoring, "free_tool_id", "i", m->tool_id)) < 0;
    }
    if (failed)
        PyErr_Clear(); /* the other error, if there is one, came first and says more */
    PyErr_SetRaisedException(raised);
}

/* Returns the counts of one code object as bytes. */
static PyObject *counts_of(struct measurement *m, PyObject *code, bool derive)
{
    const struct counters *counters = counters_find(&m->table, code)->counters;
    const struct block_plan *plan = &counters->plan;
    struct code_reading reading = {0};
    int64_t *scratch = PyMem_RawCalloc(blocks_scratch_words(plan) + 1, sizeof *scratch);
    PyObject *bytes =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(plan->n_instrs * sizeof(int64_t)));
    int64_t *counts = bytes == NULL ? NULL : (int64_t *)PyBytes_AS_STRING(bytes);
    if (scratch == NULL || counts == NULL || code_facts_read(&reading, (PyCodeObject *)code) < 0) {
        Py_CLEAR(bytes);
        if (scratch == NULL)
            PyErr_NoMemory();
        goto done;
    }
    if (derive)
        blocks_derive(plan, counters->units, counters->losses, counts, scratch);
    for (uint32_t i = 0; i < plan->n_instrs; i++) {
        if (reading.list.instrs[i].uncounted || !blocks_knows(plan, i))
            counts[i] = 0;
        else if (!derive)
            counts[i] = counters->units[plan->own_unit[i]];
    }
done:
    code_facts_release(&reading);
    PyMem_RawFree(scratch);
    return bytes;
}

static PyObject *results_of(struct measurement *m, bool derive)
{
    PyObject *results = PyList_New(0);
    int64_t n_events = 0, n_raises = 0;
    for (Py_ssize_t i = 0; results != NULL && i < PySequence_Fast_GET_SIZE(m->codes); i++) {
        PyObject *code = PySequence_Fast_GET_ITEM(m->codes, i);
        const struct counters *counters = counters_find(&m->table, code)->counters;
        PyObject *counts = counts_of(m, code, derive);
        if (counts == NULL || PyList_Append(results, counts) < 0)
            Py_CLEAR(results);
        Py_XDECREF(counts);
        for (uint32_t unit = 0; unit < counters->plan.n_units; unit++)
            n_events += counters->units[unit] < 0 ? 0 : counters->units[unit];
        for (uint32_t instr = 0; instr < counters->plan.n_instrs; instr++)
            n_raises += counters->losses[instr];
    }
    return results == NULL
               ? NULL
               : Py_BuildValue("NLL", results, (long long)n_events, (long long)n_raises);
}

PyObject *exactness_count(PyObject *module, PyObject *args)
{
    struct measurement m = {.tool_id = -1};
    PyObject *codes, *run, *result = NULL;
    int derive;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOp:count_instructions", &codes, &run, &derive))
        return NULL;
    m.monitoring = PySys_GetObject("monitoring");
    m.codes = PySequence_Fast(codes, "a sequence of code objects is needed");
    m.disable = PyObject_GetAttrString(m.monitoring, "DISABLE");
    if (m.codes == NULL || m.disable == NULL || PyType_Ready(&counting_callback_type) < 0 ||
        code_facts_prepare() < 0)
        goto done;
    if (counters_init(&m.table) < 0) {
        PyErr_NoMemory();
        goto done;
    }
    if (measurement_start(&m, derive ? COUNT_PROBES : COUNT_ALL) == 0 &&
        done(PyObject_CallNoArgs(run)) == 0)
        result = Py_None;
    measurement_stop(&m);
    if (result != NULL)
        result = results_of(&m, derive != 0);
done:
    counters_release(&m.table);
    Py_XDECREF(m.disable);
    Py_XDECREF(m.codes);
    return result;
}
