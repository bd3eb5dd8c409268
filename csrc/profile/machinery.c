/* machinery.c - see machinery.h. */
#include "profile/machinery.h"

#include <stddef.h>
#include <string.h>

/* Beginnings of names, of the interpreter's functions only; separated by blanks. */
static const char hidden[] =
    /* calls */
    "_PyEval_ PyEval_ _TAIL_CALL_ _PyFunction_Vectorcall _PyObject_Call PyObject_Call "
    "_PyObject_Vectorcall PyObject_Vectorcall _PyObject_MakeTpCall _PyObject_FastCall "
    "PyVectorcall_ _PyVectorcall_ _PyStack_ method_vectorcall cfunction_vectorcall "
    "cfunction_call vectorcall_ object_vacall callmethod slot_tp_ slot_nb_ slot_sq_ slot_mp_ "
    "slot_am_ type_call type_vectorcall wrap_ wrapperdescr_call wrapper_call "
    "wrapperdescr_raw_call gen_send_ex gen_iternext gen_throw _gen_throw gen_close "
    "coro_wrapper_ PyIter_Send _Py_HandlePending handle_signals _PyErr_CheckSignals "
    "PyErr_CheckSignals make_pending_calls _PyCFunction property_descr_get _PyFrame_ "
    "clear_thread_frame clear_gen_frame call_attribute lookup_maybe_method "
    "_PyObject_GenericGetAttr "
    /* starts */
    "run_mod run_eval_code_obj pyrun_ _PyRun_ PyRun_ pymain_ Py_RunMain Py_BytesMain Py_Main "
    "builtin_exec builtin_eval thread_run thread_bootstate pythread_wrapper main "
    /* imports */
    "import_find_and_load import_find_extension import_run_extension import_get_module "
    "PyImport_Import _PyImport_Import builtin___import__ import_name "
    /* memory */
    "_PyMem_ PyMem_ _PyObject_Malloc _PyObject_Calloc _PyObject_Realloc PyObject_Malloc "
    "PyObject_Calloc PyObject_Realloc _PyObject_Arena new_arena allocate_from_new_pool "
    "pymalloc_ arena_map_ _PyObject_Mi _PyObject_VirtualAlloc gc_alloc _PyObject_GC_New "
    "_PyType_AllocNoTrack PyType_GenericAlloc ";

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

bool machinery_is_loop(const char *name)
{
    return begins_with(name, "_PyEval_EvalFrameDefault");
}

bool machinery_is_hidden(const char *name)
{
    for (const char *beginning = hidden; *beginning != '\0';) {
        size_t n_bytes = strcspn(beginning, " ");
        if (strncmp(name, beginning, n_bytes) == 0)
            return true;
        beginning += n_bytes + 1;
    }
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool machinery_is_c_library(const char *path)
{
    const char *name = base_name(path);
    return begins_with(name, "libc.so") || begins_with(name, "libc-") ||
           begins_with(name, "libpthread") || begins_with(name, "ld-");
}

bool machinery_is_python(const char *path)
{
    return begins_with(base_name(path), "python") || begins_with(base_name(path), "libpython");
}
