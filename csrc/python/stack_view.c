/* stack_view.c - see stack_view.h. */
#include "python/stack_view.h"

#include "python/compat.h"

void stack_view_frame(uintptr_t frame, struct seen_frame *view)
{
    struct _PyInterpreterFrame *known = (struct _PyInterpreterFrame *)frame;
    PyObject *code = PyUnstable_InterpreterFrame_GetCode(known);
    *view = (struct seen_frame){.code = (uintptr_t)code};
    if (PyCode_Check(code)) {
        view->unit = PyUnstable_InterpreterFrame_GetLasti(known) / 2;
        view->first_traceable = ((PyCodeObject *)code)->_co_firsttraceable;
    }
    Py_DECREF(code); /* the frame has its own reference */
}

void stack_view_whole(interp_visit_fn visit, void *context)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    bool more = true;
    while (frame != NULL && more) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyFrameObject *back;
        struct seen_frame view = {.code = (uintptr_t)code, .unit = PyFrame_GetLasti(frame) / 2};
        Py_DECREF(code);
        more = visit(context, &view);
        back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
}

bool stack_view_has_whole(void)
{
    /* Without the GIL the collector, too, takes memory, while no object may be created. */
    return !COMPAT_IS_FREE_THREADED;
}
