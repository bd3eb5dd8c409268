/* collector.c - see collector.h. */
#include "python/collector.h"

#include "base/ticks.h"
#include "format/record.h"
#include "lines/collect.h"

#include <errno.h>

struct collector {
    PyObject_HEAD struct collection collection;
};

static struct result_settings described;

void collector_describe(const struct result_settings *process)
{
    described = *process;
}

static PyObject *none_or_no_memory(int result)
{
    if (result < 0)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *collector_start(PyObject *self, PyObject *unused)
{
    (void)unused;
    return none_or_no_memory(collect_start(&((struct collector *)self)->collection));
}

static PyObject *collector_stop(PyObject *self, PyObject *unused)
{
    (void)unused;
    return none_or_no_memory(collect_stop(&((struct collector *)self)->collection));
}

/* Marks in `wanted`, by code id, what is in a sequence of code objects. */
static int mark_wanted(PyObject *codes, uint8_t *wanted, uint32_t n_codes)
{
    PyObject *items = PySequence_Fast(codes, "a sequence of code objects is needed");
    if (items == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) {
        const struct lines_code *code = registry_find(PySequence_Fast_GET_ITEM(items, i));
        if (code != NULL && code->id <= n_codes)
            wanted[code->id] = 1;
    }
    Py_DECREF(items);
    return 0;
}

static PyObject *write_totals(struct account_totals *totals, PyObject *codes, const char *path)
{
    struct result_settings settings = described;
    uint8_t *wanted = PyMem_Calloc((size_t)totals->n_codes + 1, 1);
    int error = 0;
    if (wanted == NULL)
        return PyErr_NoMemory();
    if (mark_wanted(codes, wanted, totals->n_codes) < 0) {
        PyMem_Free(wanted);
        return NULL;
    }
    settings.path = settings.temporary = path;
    settings.start_wall_ns = wall_now_ns(); /* each result is one of its own */
    error = result_write_totals(&settings, totals, wanted);
    PyMem_Free(wanted);
    if (error != 0) {
        errno = error;
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    }
    Py_RETURN_NONE;
}

static PyObject *collector_write(PyObject *self, PyObject *args)
{
    struct account_totals totals;
    const char *path;
    PyObject *codes, *result;
    if (!PyArg_ParseTuple(args, "yO:write", &path, &codes))
        return NULL;
    if (collect_totals(&((struct collector *)self)->collection, &totals) < 0)
        return PyErr_NoMemory();
    result = write_totals(&totals, codes, path);
    account_totals_release(&totals);
    return result;
}

static void collector_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    collect_release(&((struct collector *)self)->collection);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"start", collector_start, METH_NOARGS,
     PyDoc_STR("start($self, /)\n--\n\nCollect from now on, if that is not so already.")},
    {"stop", collector_stop, METH_NOARGS,
     PyDoc_STR("stop($self, /)\n--\n\nCollect no more, and keep what there is.")},
    {"write", collector_write, METH_VARARGS,
     PyDoc_STR("write($self, path, codes, /)\n--\n\nWrite what there is of these code objects.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, collector_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, (void *)PyDoc_STR("Adds up what is counted while it is on.")},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "proftrace._lines.Collector",
    .basicsize = sizeof(struct collector),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int collector_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    int result = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    return result;
}
