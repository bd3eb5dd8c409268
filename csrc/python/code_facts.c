/* code_facts.c - see code_facts.h. */
#include "python/code_facts.h"

#include "lines/statements.h"
#include "python/probe_places.h"
#include "python/search_costs.h"

#include <string.h>

#define N_OPCODES 256

struct opcode_facts {
    uint8_t caches;
    uint8_t flow;   /* enum instr_flow */
    bool is_prefix; /* EXTENDED_ARG */
    bool jumps_back;
    bool takes; /* although the stack gets no smaller */
    bool makes;
    bool makes_iterator;
    bool begins_comprehension; /* saves a target, or makes the result, or swaps */
    bool swaps;
    bool collects; /* puts an item into the result of a comprehension */
    bool goes_on;
    bool leaves_with;
    bool iterates;
    bool loads_global;
    bool closes_loop;
    bool resumes;
    bool suspends;
    bool reraises;
    bool silent;
    bool uncounted;
    bool ends_send;
    bool ends_for; /* END_FOR: it is jumped over together with the POP behind it */
};

static struct opcode_facts opcodes[N_OPCODES];

/* Everything of one code object that has to be released again. */
struct reading {
    PyObject *bytecode;   /* owned: co_code */
    const uint8_t *bytes; /* borrowed from bytecode */
    uint32_t n_units;
    int32_t *line_of_unit;
    uint8_t *probes;
    uint32_t *instr_of_unit;
    struct hit_rules rules;
    struct instr *instrs;
    uint32_t n_instrs;
    struct instr_guard *guards;
    uint32_t n_guards;
};

static bool name_starts(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* Whether a name is in a list that ends with NULL. */
static bool name_is_in(const char *name, const char *const *list)
{
    while (*list != NULL && strcmp(name, *list) != 0)
        list++;
    return *list != NULL;
}

/* What is known of events at an instruction; names that a version lacks do no harm. */
static void classify_events(struct opcode_facts *facts, const char *name)
{
    static const char *const silent[] = {"RESUME",   "END_FOR",   "END_SEND", "END_ASYNC_FOR",
                                         "POP_ITER", "NOT_TAKEN", NULL};
    static const char *const uncounted[] = {"RESUME",           "END_FOR",   "END_SEND",
                                            "POP_ITER",         "NOT_TAKEN", "COPY_FREE_VARS",
                                            "RETURN_GENERATOR", "MAKE_CELL", NULL};
    facts->silent = name_is_in(name, silent);
    facts->uncounted = name_is_in(name, uncounted);
    facts->resumes = strcmp(name, "RESUME") == 0;
    facts->suspends = strcmp(name, "YIELD_VALUE") == 0 || strcmp(name, "RETURN_GENERATOR") == 0;
    facts->reraises = strcmp(name, "RERAISE") == 0;
    facts->ends_send = strcmp(name, "END_SEND") == 0;
    facts->ends_for = strcmp(name, "END_FOR") == 0;
}

/* What is known of the parts of statements; see struct instr. */
static void classify_parts(struct opcode_facts *facts, const char *name)
{
    static const char *const beginning[] = {"LOAD_FAST_AND_CLEAR", "MAKE_CELL", NULL};
    static const char *const collecting[] = {"LIST_APPEND", "SET_ADD", "MAP_ADD", NULL};
    static const char *const going_on[] = {"BEFORE_WITH", "BEFORE_ASYNC_WITH", "CLEANUP_THROW",
                                           NULL};
    facts->iterates = strcmp(name, "FOR_ITER") == 0 || strcmp(name, "GET_ANEXT") == 0;
    facts->makes_iterator = strcmp(name, "GET_ITER") == 0 || strcmp(name, "GET_AITER") == 0;
    facts->makes = name_starts(name, "BUILD_");
    facts->swaps = strcmp(name, "SWAP") == 0;
    facts->begins_comprehension = facts->swaps || facts->makes || name_is_in(name, beginning);
    facts->collects = name_is_in(name, collecting);
    facts->goes_on = name_is_in(name, going_on);
    facts->leaves_with = strcmp(name, "WITH_EXCEPT_START") == 0;
    facts->loads_global = strcmp(name, "LOAD_GLOBAL") == 0;
    facts->closes_loop = strcmp(name, "JUMP_BACKWARD") == 0;
    facts->takes = strcmp(name, "COPY") == 0 || strcmp(name, "SWAP") == 0 ||
                   strcmp(name, "TO_BOOL") == 0 || name_starts(name, "UNARY_");
}

static void classify(struct opcode_facts *facts, const char *name, bool jumps)
{
    facts->is_prefix = strcmp(name, "EXTENDED_ARG") == 0;
    facts->jumps_back = name_starts(name, "JUMP_BACKWARD");
    classify_events(facts, name);
    classify_parts(facts, name);
    if (strcmp(name, "END_ASYNC_FOR") == 0)
        facts->flow = FLOW_NEXT; /* since 3.14 it has a target, but only to tell tools about */
    else if (jumps)
        facts->flow = name_starts(name, "JUMP_") ? FLOW_JUMP : FLOW_BRANCH;
    else if (name_starts(name, "RETURN_VALUE") || name_starts(name, "RETURN_CONST") ||
             name_starts(name, "RAISE_VARARGS") || name_starts(name, "RERAISE") ||
             name_starts(name, "INTERPRETER_EXIT"))
        facts->flow = FLOW_END;
    else
        facts->flow = FLOW_NEXT;
}

/* `entries` is a list by opcode (3.12) or a mapping by name (3.13 and later). */
static long cache_entries(PyObject *entries, PyObject *name, long opcode)
{
    PyObject *item;
    long n = 0;
    if (PyList_Check(entries)) {
        item = opcode < PyList_GET_SIZE(entries) ? PyList_GET_ITEM(entries, opcode) : NULL;
        return item == NULL ? 0 : PyLong_AsLong(item);
    }
    item = PyObject_GetItem(entries, name);
    if (item == NULL) {
        PyErr_Clear(); /* has no row: no cache */
        return 0;
    }
    n = PyLong_AsLong(item);
    Py_DECREF(item);
    return n;
}

static int read_opcodes(PyObject *names, PyObject *jumps, PyObject *entries)
{
    PyObject *name, *number;
    Py_ssize_t at = 0;
    while (PyDict_Next(names, &at, &name, &number)) {
        long opcode = PyLong_AsLong(number);
        const char *text = PyUnicode_AsUTF8(name);
        int is_jump = PySequence_Contains(jumps, number);
        if (text == NULL || is_jump < 0 || (opcode < 0 && PyErr_Occurred()))
            return -1;
        if (opcode >= N_OPCODES) /* names that only the compiler uses */
            continue;
        classify(&opcodes[opcode], text, is_jump != 0);
        opcodes[opcode].caches = (uint8_t)cache_entries(entries, name, opcode);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* The mapping of this name as a dict: 3.15 freezes its own, which PyDict_Next does not read. */
static PyObject *attribute_as_dict(PyObject *module, const char *name)
{
    PyObject *mapping = PyObject_GetAttrString(module, name);
    PyObject *dict = NULL;
    if (mapping != NULL)
        dict = PyObject_CallOneArg((PyObject *)&PyDict_Type, mapping);
    Py_XDECREF(mapping);
    return dict;
}

int code_facts_prepare(void)
{
    PyObject *module = PyImport_ImportModule("opcode");
    PyObject *names = NULL, *jumps = NULL, *entries = NULL;
    int result = -1;
    if (module == NULL)
        return -1;
    names = attribute_as_dict(module, "opmap");
    jumps = PyObject_GetAttrString(module, "hasjrel");
    entries = PyObject_GetAttrString(module, "_inline_cache_entries");
    if (names != NULL && jumps != NULL && entries != NULL)
        result = read_opcodes(names, jumps, entries);
    if (result == 0)
        result = probe_places_prepare(module);
    Py_XDECREF(names);
    Py_XDECREF(jumps);
    Py_XDECREF(entries);
    Py_DECREF(module);
    return result;
}

static void reading_free(struct reading *reading)
{
    Py_XDECREF(reading->bytecode);
    PyMem_RawFree(reading->line_of_unit);
    PyMem_RawFree(reading->probes);
    PyMem_RawFree(reading->instr_of_unit);
    hit_rules_free(&reading->rules);
    PyMem_RawFree(reading->instrs);
    PyMem_RawFree(reading->guards);
}

static int reading_alloc(struct reading *reading, PyCodeObject *code)
{
    uint32_t n;
    reading->bytecode = PyCode_GetCode(code);
    if (reading->bytecode == NULL)
        return -1;
    reading->bytes = (const uint8_t *)PyBytes_AS_STRING(reading->bytecode);
    n = reading->n_units = (uint32_t)(PyBytes_GET_SIZE(reading->bytecode) / 2);
    reading->line_of_unit = PyMem_RawCalloc(n + 1, sizeof *reading->line_of_unit);
    reading->probes = PyMem_RawCalloc(n + 1, sizeof *reading->probes);
    reading->instr_of_unit = PyMem_RawCalloc(n + 1, sizeof *reading->instr_of_unit);
    reading->instrs = PyMem_RawCalloc(n + 1, sizeof *reading->instrs);
    if (reading->line_of_unit == NULL || reading->probes == NULL ||
        reading->instr_of_unit == NULL || reading->instrs == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static int read_lines(struct reading *reading, PyCodeObject *code)
{
    PyObject *rows = PyObject_CallMethod((PyObject *)code, "co_lines", NULL);
    PyObject *row;
    if (rows == NULL)
        return -1;
    while ((row = PyIter_Next(rows)) != NULL) {
        int start = 0, end = 0;
        PyObject *line = NULL; /* borrowed from row */
        bool ok = PyArg_ParseTuple(row, "iiO", &start, &end, &line);
        long number = ok && line != Py_None ? PyLong_AsLong(line) : 0;
        Py_DECREF(row);
        if (!ok)
            break;
        for (int unit = start / 2; number > 0 && unit < end / 2; unit++)
            if (unit >= 0 && (uint32_t)unit < reading->n_units)
                reading->line_of_unit[unit] = (int32_t)number;
    }
    Py_DECREF(rows);
    return PyErr_Occurred() ? -1 : 0;
}

static int stack_effect(int opcode, uint32_t argument, int jump)
{
    int effect = PyCompile_OpcodeStackEffectWithJump(opcode, (int)argument, jump);
    return effect == PY_INVALID_STACK_EFFECT ? 0 : effect;
}

/* What was met of a loop that is still to be found as a whole. */
struct loop_search {
    uint32_t maker; /* of the iterator; UINT32_MAX = none, or something jumped since */
    uint32_t anext; /* the GET_ANEXT whose value is awaited */
    uint32_t begun; /* where a comprehension began to save and make what it needs; UINT32_MAX */
    bool swapped;   /* the instruction before brings what is iterated over back to the top */
};

/*
 * Finds what takes the items of a loop, and what made its iterator: it stands in front of what
 * fetches them, with only the beginning of a comprehension between them.
 */
static void link_loop(struct reading *reading, const struct opcode_facts *facts,
                      struct loop_search *loop)
{
    uint32_t at = reading->n_instrs;
    if (facts->iterates) {
        reading->instrs[at].item = at + 1;
        reading->instrs[at].maker = loop->maker == UINT32_MAX ? at : loop->maker;
        loop->anext = facts->flow == FLOW_NEXT ? at : UINT32_MAX;
    }
    if (facts->ends_send && loop->anext != UINT32_MAX) {
        reading->instrs[loop->anext].item = at + 1;
        loop->anext = UINT32_MAX;
    }
    if (facts->makes_iterator) /* since 3.15 behind the beginning of a comprehension */
        loop->maker = loop->begun != UINT32_MAX && loop->swapped ? loop->begun : at;
    else if (facts->flow != FLOW_NEXT || facts->iterates)
        loop->maker = UINT32_MAX;
    if (!facts->begins_comprehension)
        loop->begun = UINT32_MAX;
    else if (loop->begun == UINT32_MAX)
        loop->begun = at;
    loop->swapped = facts->swaps;
}

/* Targets are code units at first; the instructions behind them may not have been read yet. */
static void read_instrs(struct reading *reading)
{
    uint32_t argument = 0, first_unit = 0, unit = 0;
    const struct opcode_facts *previous = &opcodes[0];
    struct loop_search loop = {UINT32_MAX, UINT32_MAX, UINT32_MAX, false};
    while (unit < reading->n_units) {
        int opcode = reading->bytes[2 * unit];
        const struct opcode_facts *facts = &opcodes[opcode];
        struct instr *instr = &reading->instrs[reading->n_instrs];
        uint32_t next = unit + 1 + facts->caches;
        argument = argument << 8 | reading->bytes[2 * unit + 1];
        for (uint32_t i = unit; i < next && i < reading->n_units; i++)
            reading->instr_of_unit[i] = reading->n_instrs;
        unit = next;
        if (facts->is_prefix)
            continue;
        *instr = (struct instr){
            .unit = first_unit,
            .line = reading->line_of_unit[first_unit],
            .target = facts->jumps_back ? next - argument : next + argument,
            .collects = facts->collects ? argument : 0,
            .effect_next = stack_effect(opcode, argument, 0),
            .effect_jump = stack_effect(opcode, argument, 1),
            .flow = facts->flow,
            .takes =
                facts->takes || facts->flow == FLOW_END || stack_effect(opcode, argument, 0) < 0,
            .makes = facts->makes,
            .makes_iterator = facts->makes_iterator,
            .goes_on = facts->goes_on,
            .leaves_with = facts->leaves_with,
            .iterates = facts->iterates,
            .loads_global = facts->loads_global,
            .closes_loop = facts->closes_loop,
            .resumes = facts->resumes,
            .suspends = facts->suspends,
            .reraises = facts->reraises,
            .silent = facts->silent,
            .uncounted = facts->uncounted || previous->ends_for,
        };
        previous = facts;
        link_loop(reading, facts, &loop);
        reading->n_instrs++;
        argument = 0;
        first_unit = unit;
    }
    for (uint32_t i = 0; i < reading->n_instrs; i++) {
        struct instr *instr = &reading->instrs[i];
        if (instr->flow != FLOW_JUMP && instr->flow != FLOW_BRANCH)
            instr->target = 0;
        else if (instr->target < reading->n_units)
            instr->target = reading->instr_of_unit[instr->target];
        else
            *instr = (struct instr){.unit = instr->unit, .line = instr->line, .flow = FLOW_END};
    }
}

/* Numbers of the exception table: 6 bits a byte, most significant first, bit 6 = more follows. */
static uint32_t get_table_number(const uint8_t **at, const uint8_t *end)
{
    uint32_t value = 0;
    while (*at < end) {
        uint8_t byte = *(*at)++;
        value = value << 6 | (byte & 63u);
        if (!(byte & 64u))
            break;
    }
    return value;
}

static int read_guards(struct reading *reading, PyCodeObject *code)
{
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(code->co_exceptiontable);
    const uint8_t *end = at + PyBytes_GET_SIZE(code->co_exceptiontable);
    reading->guards = PyMem_RawCalloc((size_t)(end - at) / 4 + 1, sizeof *reading->guards);
    if (reading->guards == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    while (end - at >= 4) { /* a row has four numbers, each at least a byte */
        uint32_t start = get_table_number(&at, end);
        uint32_t length = get_table_number(&at, end);
        uint32_t target = get_table_number(&at, end);
        uint32_t depth = get_table_number(&at, end);
        if (target >= reading->n_units || start > reading->n_units ||
            length > reading->n_units - start)
            continue;
        reading->guards[reading->n_guards++] = (struct instr_guard){
            .start = reading->instr_of_unit[start],
            .end = start + length == reading->n_units ? reading->n_instrs
                                                      : reading->instr_of_unit[start + length],
            .target = reading->instr_of_unit[target],
            .depth = (int32_t)(depth >> 1),
            .pushed = 1 + (int32_t)(depth & 1),
        };
    }
    return 0;
}

/* What the LINE events cost that the places where lines begin have. */
static void find_probes(struct reading *reading)
{
    int32_t line = 0;
    memset(reading->probes, PROBE_KINDS, reading->n_units);
    for (uint32_t i = 0; i < reading->n_instrs; i++) {
        const struct instr *instr = &reading->instrs[i];
        uint8_t probe = instr->iterates       ? PROBE_LOOP
                        : instr->loads_global ? PROBE_GLOBAL
                                              : PROBE_LINE;
        if (instr->line == line && !instr->iterates)
            continue;
        line = instr->line;
        if (line > COMPAT_LARGEST_SMALL_INT)
            probe += PROBE_LARGE;
        reading->probes[instr->unit] = probe;
    }
}

static struct lines_code *register_reading(const struct reading *reading, PyCodeObject *code,
                                           uint32_t source)
{
    Py_ssize_t name_bytes, qualname_bytes;
    struct lines_code *registered = NULL;
    uint32_t *searches = search_costs_measure(code, reading->line_of_unit, reading->n_units);
    PyObject *file = PyUnicode_AsEncodedString(code->co_filename, "utf-8", "surrogatepass");
    struct code_facts facts = {
        .key = code,
        .name = PyUnicode_AsUTF8AndSize(code->co_name, &name_bytes),
        .qualname = PyUnicode_AsUTF8AndSize(code->co_qualname, &qualname_bytes),
        .source = source,
        .def_line = (uint32_t)code->co_firstlineno,
        .flags = (uint32_t)code->co_flags,
        .n_units = reading->n_units,
        .line_of_unit = reading->line_of_unit,
        .rules = &reading->rules,
        .probes = reading->probes,
        .searches = searches,
    };
    if (file != NULL && facts.name != NULL && facts.qualname != NULL) {
        facts.file = PyBytes_AS_STRING(file);
        facts.file_bytes = (uint32_t)PyBytes_GET_SIZE(file);
        facts.name_bytes = (uint32_t)name_bytes;
        facts.qualname_bytes = (uint32_t)qualname_bytes;
        registered = registry_add_code(&facts);
        if (registered == NULL)
            PyErr_SetString(PyExc_ValueError, "it has no lines, or too many");
    }
    PyMem_RawFree(searches);
    Py_XDECREF(file);
    return registered;
}

/* Reads a code object and what statements_find says of it; -1 with an exception set. */
static int read_code(struct reading *reading, PyCodeObject *code, struct instr_list *list)
{
    if (reading_alloc(reading, code) < 0 || read_lines(reading, code) < 0)
        return -1;
    read_instrs(reading);
    find_probes(reading);
    probe_places_mark(reading->instrs, reading->n_instrs, reading->bytes);
    if (read_guards(reading, code) < 0)
        return -1;
    *list = (struct instr_list){
        .instrs = reading->instrs,
        .n_instrs = reading->n_instrs,
        .guards = reading->guards,
        .n_guards = reading->n_guards,
        .n_units = reading->n_units,
        .repeats_lines = COMPAT_REPEATS_LINES,
    };
    if (statements_find(list, &reading->rules) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

int code_facts_read(struct code_reading *read, PyCodeObject *code)
{
    struct reading *reading = PyMem_RawCalloc(1, sizeof *reading);
    if (reading == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    read->owned = reading;
    read->rules = &reading->rules;
    if (read_code(reading, code, &read->list) == 0)
        return 0;
    code_facts_release(read);
    return -1;
}

void code_facts_release(struct code_reading *read)
{
    if (read->owned != NULL) {
        reading_free(read->owned);
        PyMem_RawFree(read->owned);
        read->owned = NULL;
    }
}

struct lines_code *code_facts_register(PyCodeObject *code, uint32_t source)
{
    struct reading reading = {0};
    struct instr_list list;
    struct lines_code *registered = NULL;
    if (read_code(&reading, code, &list) == 0)
        registered = register_reading(&reading, code, source);
    reading_free(&reading);
    return registered;
}
