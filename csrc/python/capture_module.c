/*
 * capture_module.c - the module proftrace._capture: the capture library from Python.
 *
 * Only this file of the capture side knows Python.h. It hands the library what it needs to read
 * stacks and tells it when code objects die; it is never called while events are recorded, but for
 * that. See _capture.pyi for the functions.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "capture/capture.h"
#include "python/compat.h"
#include "python/ctypes_pointers.h"
#include "python/pymem.h"
#include "python/stack_view.h"
#include "python/state_word.h"
#include "python/thread_name.h"

#include <dlfcn.h>
#include <errno.h>

/* ---- what the library needs of the interpreter --------------------------------------------- */

/* The first of two names that this interpreter exports; they changed between versions. */
static void *find_symbol(const char *name, const char *older_name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL ? found : dlsym(RTLD_DEFAULT, older_name);
}

static int find_binding(struct interp_binding *binding)
{
    *binding = (struct interp_binding){
        .runtime = dlsym(RTLD_DEFAULT, "_PyRuntime"),
        .none = Py_None,
        .hexversion = (uint32_t)Py_Version,
#ifdef Py_GIL_DISABLED
        .free_threaded = true,
#endif
        .attached_state = (void *(*)(void))find_symbol("PyThreadState_GetUnchecked",
                                                       "_PyThreadState_UncheckedGet"),
        .known_state = (void *(*)(void))PyGILState_GetThisThreadState,
        .is_finalizing = (int (*)(void))find_symbol("Py_IsFinalizing", "_Py_IsFinalizing"),
        .starting_thread = thread_name_starting,
        .view = {.frame = stack_view_frame,
                 .whole = stack_view_has_whole() ? stack_view_whole : NULL},
    };
    if (binding->runtime != NULL)
        binding->state_offset = state_word_offset(binding->runtime);
    /* For tests of what happens with an interpreter that nobody has seen yet. */
    if (getenv("PROFTRACE_TEST_UNKNOWN_LAYOUT") != NULL)
        binding->hexversion = 0x03ff00f0;
    return binding->runtime != NULL && binding->attached_state != NULL &&
                   binding->is_finalizing != NULL
               ? 0
               : -1;
}

static int code_event(PyCodeEvent event, PyCodeObject *code)
{
    if (event == PY_CODE_EVENT_DESTROY)
        proftrace_capture_code_died(code);
    return 0;
}

static int watch_code(void)
{
    static bool watching;
    if (!watching && PyCode_AddWatcher(code_event) < 0)
        return -1;
    watching = true;
    return 0;
}

/* ---- children --------------------------------------------------------------------------- */

static bool follows_children;

/* The texts are kept for good: they are needed when the process ends by exec. */
static PyObject *follow_children(PyObject *module, PyObject *args)
{
    PyObject *folder, *boot, *result = NULL;
    char *kept_folder, *kept_boot;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&O&:follow_children", PyUnicode_FSConverter, &folder,
                          PyUnicode_FSConverter, &boot))
        return NULL;
    kept_folder = strdup(PyBytes_AS_STRING(folder));
    kept_boot = strdup(PyBytes_AS_STRING(boot));
    Py_DECREF(folder);
    Py_DECREF(boot);
    if (kept_folder != NULL && kept_boot != NULL) {
        proftrace_capture_follow_children(kept_folder, kept_boot);
        follows_children = true;
        result = Py_NewRef(Py_None);
    }
    return result == NULL ? PyErr_NoMemory() : result;
}

/* ---- start --------------------------------------------------------------------------------- */

#define MOST_METAS 16

static int take_metas(PyObject *dict, struct capture_meta *metas, size_t *n)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *n = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        struct capture_meta *meta = &metas[*n];
        if (*n == MOST_METAS) {
            PyErr_SetString(PyExc_ValueError, "too many entries in meta");
            return -1;
        }
        meta->key = PyUnicode_AsUTF8(key);
        meta->value = meta->key == NULL ? NULL : PyUnicode_AsUTF8(value);
        if (meta->value == NULL)
            return -1;
        (*n)++;
    }
    return 0;
}

/* Owned memory, one entry a name; NULL with an exception set, or when there are none. */
static struct capture_thread_name *take_threads(PyObject *dict, size_t *n)
{
    struct capture_thread_name *threads;
    PyObject *tid, *name;
    Py_ssize_t at = 0;
    *n = 0;
    if (dict == NULL || PyDict_GET_SIZE(dict) == 0)
        return NULL;
    threads = PyMem_Calloc((size_t)PyDict_GET_SIZE(dict), sizeof *threads);
    if (threads == NULL)
        PyErr_NoMemory();
    while (threads != NULL && PyDict_Next(dict, &at, &tid, &name)) {
        threads[*n].tid = PyLong_AsUnsignedLongLong(tid);
        threads[*n].name = PyUnicode_AsUTF8(name);
        if (PyErr_Occurred()) {
            PyMem_Free(threads);
            return NULL;
        }
        (*n)++;
    }
    return threads;
}

static PyObject *start_failed(const char *path)
{
    const int error = errno;
    if (!proftrace_capture_is_on())
        pymem_remove();
    errno = error;
    if (errno == EALREADY) {
        PyErr_SetString(PyExc_RuntimeError, "allocations are being recorded already");
        return NULL;
    }
    return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
}

static PyObject *start(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {
        "path",          "meta",         "force",        "quiet",
        "own_folder",    "follow_forks", "stem",         "python_allocators",
        "verify_stacks", "native",       "sample_bytes", "aggregate",
        "ring_bytes",    "threads",      "interval_ns",  NULL};
    struct capture_meta metas[MOST_METAS];
    struct interp_binding binding;
    struct capture_options options = {.metas = metas};
    PyObject *path, *meta, *result = NULL, *folder = NULL, *stem = NULL, *threads = NULL;
    struct capture_thread_name *thread_names = NULL;
    unsigned long long sample_bytes = 0, ring_bytes = 0, interval_ns = 0;
    int aggregate = 0;
    int force = 0, quiet = 1, follow_forks = 0, python_allocators = 0, verify = 0, native = 0;
    sigset_t signals_before;
    const char *no_stacks;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O!|$ppO&pO&pppKpKO!K:start",
                                     (char **)(uintptr_t)names, PyUnicode_FSConverter, &path,
                                     &PyDict_Type, &meta, &force, &quiet, PyUnicode_FSConverter,
                                     &folder, &follow_forks, PyUnicode_FSConverter, &stem,
                                     &python_allocators, &verify, &native, &sample_bytes,
                                     &aggregate, &ring_bytes, &PyDict_Type, &threads, &interval_ns))
        return NULL;
    thread_names = take_threads(threads, &options.n_threads);
    if (PyErr_Occurred() || take_metas(meta, metas, &options.n_metas) != 0 || watch_code() != 0)
        goto done;
    options.threads = thread_names;
    options.path = PyBytes_AS_STRING(path);
    options.replace = force;
    options.quiet = quiet;
    options.native = native;
    options.sample_bytes = sample_bytes;
    options.aggregate = aggregate;
    options.ring_bytes = ring_bytes;
    options.interval_ns = interval_ns;
    options.own_folder = folder == NULL ? NULL : PyBytes_AS_STRING(folder);
    options.stem = stem == NULL ? NULL : PyBytes_AS_STRING(stem);
    options.follow_forks = follow_forks;
    options.end_on_signals = true;
    options.python_allocators = python_allocators || pymem_is_apart();
    options.verify = verify;
    options.binding = find_binding(&binding) == 0 ? &binding : NULL;
    proftrace_capture_control(&signals_before);
    pymem_install(options.python_allocators);
    if (!follows_children) /* what the library found in the environment was for this process */
        proftrace_capture_follow_children(NULL, NULL);
    if (proftrace_capture_start(&options, &no_stacks) != 0)
        result = start_failed(options.path);
    else if (no_stacks != NULL)
        result = PyUnicode_FromString(no_stacks);
    else
        result = Py_NewRef(Py_None);
    proftrace_capture_release(&signals_before);
    if (result != NULL)
        ctypes_pointers_hook();
done:
    PyMem_Free(thread_names);
    Py_DECREF(path);
    Py_XDECREF(folder);
    Py_XDECREF(stem);
    return result;
}

/* ---- the rest ------------------------------------------------------------------------------ */

/* This recording, or any if it is 0. Where there is no GIL, a start must not come between. */
static bool stop_and_remove(uint64_t session)
{
    sigset_t signals_before;
    bool stopped = true;
    proftrace_capture_control(&signals_before);
    if (session == 0)
        proftrace_capture_stop();
    else
        stopped = proftrace_capture_stop_session(session);
    if (!proftrace_capture_is_on())
        pymem_remove();
    proftrace_capture_release(&signals_before);
    return stopped;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    (void)stop_and_remove(0);
    Py_RETURN_NONE;
}

static PyObject *session(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(proftrace_capture_session());
}

static PyObject *stop_session(PyObject *module, PyObject *number)
{
    const uint64_t wanted = PyLong_AsUnsignedLongLong(number);
    (void)module;
    if (wanted == (uint64_t)-1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(stop_and_remove(wanted));
}

static PyObject *set_paused(PyObject *module, PyObject *paused)
{
    (void)module;
    proftrace_capture_pause(paused == Py_True);
    Py_RETURN_NONE;
}

static PyObject *set_aside(PyObject *module, PyObject *aside)
{
    (void)module;
    proftrace_capture_set_aside(aside == Py_True);
    Py_RETURN_NONE;
}

static PyObject *mark(PyObject *module, PyObject *label)
{
    const char *text = PyUnicode_AsUTF8(label);
    (void)module;
    return text == NULL ? NULL : PyBool_FromLong(proftrace_capture_mark_label(text));
}

static PyObject *mark_end_of_script(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    proftrace_capture_mark(MARK_END_OF_SCRIPT, 0);
    Py_RETURN_NONE;
}

static PyObject *is_on(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(proftrace_capture_is_on());
}

static PyObject *is_preloaded(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(proftrace_capture_is_preloaded());
}

static PyObject *has_native(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(proftrace_capture_has_native());
}

static PyObject *name_thread(PyObject *module, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    (void)module;
    if (text == NULL)
        return NULL;
    proftrace_capture_name_thread(text);
    Py_RETURN_NONE;
}

static PyObject *library_path(PyObject *module, PyObject *unused)
{
    Dl_info info;
    (void)module;
    (void)unused;
    if (dladdr((void *)proftrace_capture_start, &info) == 0 || info.dli_fname == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the capture library cannot be found");
        return NULL;
    }
    return PyUnicode_DecodeFSDefault(info.dli_fname);
}

static PyObject *allocator_name(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(pymem_allocator_name());
}

static PyObject *flush(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(proftrace_capture_flush() == 0);
}

static PyObject *verify_stacks(PyObject *module, PyObject *unused)
{
    struct capture_check check;
    (void)module;
    (void)unused;
    if (proftrace_capture_check_thread(&check) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "allocations are not being recorded");
        return NULL;
    }
    return PyBool_FromLong(check.stacks_agree);
}

PyDoc_STRVAR(module_doc, "The capture library: records what the process allocates.");

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS, NULL},
    {"follow_children", follow_children, METH_VARARGS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"session", session, METH_NOARGS, NULL},
    {"stop_session", stop_session, METH_O, NULL},
    {"set_paused", set_paused, METH_O, NULL},
    {"set_aside", set_aside, METH_O, NULL},
    {"mark", mark, METH_O, NULL},
    {"mark_end_of_script", mark_end_of_script, METH_NOARGS, NULL},
    {"is_on", is_on, METH_NOARGS, NULL},
    {"is_preloaded", is_preloaded, METH_NOARGS, NULL},
    {"has_native", has_native, METH_NOARGS, NULL},
    {"name_thread", name_thread, METH_O, NULL},
    {"library_path", library_path, METH_NOARGS, NULL},
    {"allocator_name", allocator_name, METH_NOARGS, NULL},
    {"flush", flush, METH_NOARGS, NULL},
    {"verify_stacks", verify_stacks, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    COMPAT_MODULE_SLOTS{0, NULL},
};

static struct PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "proftrace._capture",
    .m_doc = module_doc,
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__capture(void);
PyMODINIT_FUNC PyInit__capture(void)
{
    return PyModuleDef_Init(&module_def);
}
