/* rules_view.c - see rules_view.h. */
#include "python/rules_view.h"

#include "lines/statements.h"
#include "python/code_facts.h"

#include <stdlib.h>

static PyObject *list_marked(const uint8_t *bitmap, uint32_t n_units)
{
    PyObject *units = PyList_New(0);
    for (uint32_t unit = 0; units != NULL && unit < n_units; unit++) {
        PyObject *number;
        if (!unit_is_marked(bitmap, unit))
            continue;
        number = PyLong_FromUnsignedLong(unit);
        if (number == NULL || PyList_Append(units, number) < 0)
            Py_CLEAR(units);
        Py_XDECREF(number);
    }
    return units;
}

static PyObject *list_credits(const struct hit_rules *rules)
{
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows != NULL && i < rules->n_credits; i++) {
        PyObject *row = Py_BuildValue("Ii", rules->credits[i].unit, rules->credits[i].line);
        if (row == NULL || PyList_Append(rows, row) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

static PyObject *list_terms(const struct instr_list *list, const struct hit_term *terms, int n)
{
    PyObject *rows = PyList_New(0);
    for (int i = 0; rows != NULL && i < n; i++) {
        PyObject *row = Py_BuildValue("iiIO", terms[i].line, terms[i].coefficient,
                                      list->instrs[terms[i].instr].unit,
                                      terms[i].completed ? Py_True : Py_False);
        if (row == NULL || PyList_Append(rows, row) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

PyObject *rules_view_describe(PyCodeObject *code)
{
    struct code_reading reading;
    struct hit_term *terms = NULL;
    PyObject *skipped, *repeats, *credits, *rows, *result = NULL;
    int n_terms;
    if (code_facts_read(&reading, code) < 0)
        return NULL;
    n_terms = statements_find_terms(&reading.list, reading.rules, &terms);
    skipped = list_marked(reading.rules->skip, reading.list.n_units);
    repeats = list_marked(reading.rules->repeat, reading.list.n_units);
    credits = list_credits(reading.rules);
    rows = n_terms < 0 ? Py_NewRef(Py_None) : list_terms(&reading.list, terms, n_terms);
    if (skipped != NULL && repeats != NULL && credits != NULL && rows != NULL)
        result = PyTuple_Pack(4, skipped, repeats, credits, rows);
    Py_XDECREF(skipped);
    Py_XDECREF(repeats);
    Py_XDECREF(credits);
    Py_XDECREF(rows);
    free(terms);
    code_facts_release(&reading);
    return result;
}
