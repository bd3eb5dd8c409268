/* probe_places.c - see probe_places.h. */
#include "python/probe_places.h"

#include <string.h>

#define N_OPCODES 256

/* What an opcode may do to the instruction behind it when it is specialised: run it as well. */
enum merging { MERGES_NOTHING, MERGES_STORE, MERGES_POP };

struct opcode_traits {
    bool is_never;       /* a counter here would not see each time that it is passed */
    bool is_specialised; /* there are faster forms, which a counter takes away */
    bool is_leaving;     /* leaves the frame, for a time or by an exception that RAISE hides */
    bool is_prefix;      /* EXTENDED_ARG */
    bool is_resume;
    bool is_loop_end; /* END_FOR */
    bool is_pop;
    bool is_store;
    bool may_stop;   /* FOR_ITER, SEND: a StopIteration ends here */
    uint8_t merging; /* enum merging */
};

static struct opcode_traits traits_of[N_OPCODES];

static bool starts_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

static void classify(struct opcode_traits *traits, const char *name)
{
    /* Without an INSTRUCTION event, or jumped over by what comes before them. */
    static const char *const never[] = {
        "CACHE",    "EXTENDED_ARG", "RESUME",           "COPY_FREE_VARS", "MAKE_CELL",
        "END_SEND", "NOT_TAKEN",    "RETURN_GENERATOR", "END_FOR",        NULL,
    };
    static const char *const leaving[] = {
        "YIELD_VALUE", "RETURN_GENERATOR", "END_ASYNC_FOR", "CLEANUP_THROW", NULL,
    };
    traits->is_never = is_one_of(name, never);
    traits->is_leaving = is_one_of(name, leaving);
    traits->is_prefix = strcmp(name, "EXTENDED_ARG") == 0;
    traits->is_resume = strcmp(name, "RESUME") == 0;
    traits->is_loop_end = strcmp(name, "END_FOR") == 0;
    traits->is_pop = strcmp(name, "POP_TOP") == 0 || strcmp(name, "POP_ITER") == 0;
    traits->is_store = starts_with(name, "STORE_FAST");
    traits->may_stop = strcmp(name, "FOR_ITER") == 0 || strcmp(name, "SEND") == 0;
    if (starts_with(name, "BINARY_OP"))
        traits->merging = MERGES_STORE; /* s += t in place */
    else if (starts_with(name, "CALL"))
        traits->merging = MERGES_POP; /* list.append */
}

/*
 * Whether there are faster forms of an opcode. Those that are two instructions in one
 * (LOAD_FAST__LOAD_FAST) do not count: they are given up by all code that had any event.
 */
static int has_faster_forms(PyObject *specialisations, PyObject *name)
{
    PyObject *forms = PyObject_GetItem(specialisations, name);
    int result = 0;
    PyObject *list;
    if (forms == NULL) {
        PyErr_Clear(); /* it has no row */
        return 0;
    }
    list = PySequence_Fast(forms, "opcode._specializations has an unknown form");
    Py_DECREF(forms);
    if (list == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list) && result == 0; i++) {
        const char *form = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(list, i));
        result = form == NULL ? -1 : strstr(form, "__") == NULL;
    }
    Py_DECREF(list);
    return result;
}

/* `items` are pairs of name and number. */
static int read_traits(PyObject *items, PyObject *specialisations)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
        PyObject *name;
        const char *text;
        int opcode, has_forms;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(items, i), "Ui", &name, &opcode))
            return -1;
        text = PyUnicode_AsUTF8(name);
        has_forms = has_faster_forms(specialisations, name);
        if (text == NULL || has_forms < 0)
            return -1;
        if (opcode < 0 || opcode >= N_OPCODES) /* only the compiler uses it */
            continue;
        traits_of[opcode].is_specialised = has_forms != 0;
        classify(&traits_of[opcode], text);
    }
    return 0;
}

int probe_places_prepare(PyObject *opcode_module)
{
    PyObject *names = PyObject_GetAttrString(opcode_module, "opmap");
    PyObject *specialisations = PyObject_GetAttrString(opcode_module, "_specializations");
    PyObject *items = names == NULL ? NULL : PyMapping_Items(names);
    int result = -1;
    if (items != NULL && specialisations != NULL)
        result = read_traits(items, specialisations);
    Py_XDECREF(items);
    Py_XDECREF(specialisations);
    Py_XDECREF(names);
    return result;
}

static uint8_t probe_at(const struct instr *instr, const struct opcode_traits *traits,
                        const struct opcode_traits *before)
{
    if (instr->uncounted)
        return PROBE_NEVER;
    if (instr->flow == FLOW_JUMP || instr->flow == FLOW_BRANCH || instr->own_unit != instr->unit)
        return PROBE_LAST_RESORT;
    if (traits->is_specialised || (before->merging == MERGES_STORE && traits->is_store) ||
        (before->merging == MERGES_POP && traits->is_pop))
        return PROBE_SLOWS;
    return PROBE_FREE;
}

void probe_places_mark(struct instr *instrs, uint32_t n_instrs, const uint8_t *bytecode)
{
    const struct opcode_traits *before = &traits_of[bytecode[0]];
    bool is_traced = false;
    for (uint32_t i = 0; i < n_instrs; i++) {
        struct instr *instr = &instrs[i];
        const struct opcode_traits *traits;
        instr->own_unit = instr->unit;
        while (traits_of[bytecode[2 * instr->own_unit]].is_prefix)
            instr->own_unit++;
        traits = &traits_of[bytecode[2 * instr->own_unit]];
        instr->resumes = traits->is_resume;
        /* An argument says that a generator goes on, or (3.15) that its object is being made. */
        instr->enters = !is_traced && traits->is_resume && bytecode[2 * instr->own_unit + 1] == 0;
        is_traced = is_traced || instr->enters;
        instr->uncounted |=
            traits->is_never || !is_traced || (before->is_loop_end && traits->is_pop);
        instr->loses_count = traits->is_leaving;
        instr->ends_block = traits->is_leaving || traits->is_resume;
        instr->may_stop = traits->may_stop;
        instr->probe = probe_at(instr, traits, before);
        before = traits;
    }
}
