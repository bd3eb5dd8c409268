/* leaky.c - a small extension module with the mistakes that extensions make, and without them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

static PyObject *half(PyObject *number)
{
    return PyFloat_FromDouble(PyFloat_AsDouble(number) / 2);
}

/* A new reference that nobody gives back: one float a call, which may come from a free list. */
static PyObject *float_without_decref(PyObject *module, PyObject *number)
{
    (void)module;
    if (half(number) == NULL)
        return NULL;
    Py_RETURN_NONE;
}

/* PyList_Append takes its own reference. */
static PyObject *list_without_decref(PyObject *module, PyObject *number)
{
    PyObject *list = PyList_New(0);
    PyObject *item = PyBytes_FromStringAndSize(NULL, 100);
    (void)module, (void)number;
    if (list == NULL || item == NULL || PyList_Append(list, item) != 0)
        return NULL;
    return list;
}

static PyObject *list_with_decref(PyObject *module, PyObject *number)
{
    PyObject *list = PyList_New(0);
    PyObject *item = PyBytes_FromStringAndSize(NULL, 100);
    (void)module, (void)number;
    if (list == NULL || item == NULL || PyList_Append(list, item) != 0)
        return NULL;
    Py_DECREF(item);
    return list;
}

static void *table;
static size_t table_bytes;

/* One block that grows, and is never two. */
static PyObject *growing_table(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    table_bytes += 64;
    table = realloc(table, table_bytes);
    Py_RETURN_NONE;
}

/* A cache of the library's own: ten blocks, each replaced in its turn. */
static PyObject *ten_blocks(PyObject *module, PyObject *unused)
{
    static void *blocks[10];
    static unsigned next;
    (void)module, (void)unused;
    free(blocks[next % 10]);
    blocks[next++ % 10] = malloc(500);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"float_without_decref", float_without_decref, METH_O, NULL},
    {"list_without_decref", list_without_decref, METH_O, NULL},
    {"list_with_decref", list_with_decref, METH_O, NULL},
    {"growing_table", growing_table, METH_NOARGS, NULL},
    {"ten_blocks", ten_blocks, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "leaky", .m_size = 0,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_leaky(void);
PyMODINIT_FUNC PyInit_leaky(void)
{
    return PyModule_Create(&definition);
}
