/*
 * compat.h - what differs between CPython versions in the C API we use; the only place that asks
 * for the version. (Memory layout is interp/layout.c.)
 */
#ifndef PROFTRACE_PYTHON_COMPAT_H
#define PROFTRACE_PYTHON_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* The calling thread's state if it is attached to the interpreter (holds the GIL), else NULL. */
static inline PyThreadState *compat_attached_state(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* The innermost Python frame of this thread, or NULL. A generator's stays where it is. */
static inline struct _PyInterpreterFrame *compat_running_frame(void)
{
    PyThreadState *thread = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030d0000
    return thread->current_frame;
#else
    return thread->cframe->current_frame;
#endif
}

/* The code unit that it is at; -1 without a frame. */
static inline int compat_running_unit(void)
{
    struct _PyInterpreterFrame *frame = compat_running_frame();
    return frame == NULL ? -1 : PyUnstable_InterpreterFrame_GetLasti(frame) / 2;
}

/* Lets this thread call so many Python functions more before it is at its recursion limit. */
static inline void compat_add_frames(int n_frames)
{
    PyThreadState_Get()->py_recursion_remaining += n_frames;
}

/* The value of an int that is known to be small: a line number, an offset. */
static inline long compat_small_int(PyObject *number)
{
    if (PyUnstable_Long_IsCompact((PyLongObject *)number))
        return (long)PyUnstable_Long_CompactValue((PyLongObject *)number);
    return PyLong_AsLong(number);
}

/* The same for a line number, which is neither negative nor of more than one digit (30 bits). */
static inline int32_t compat_line_number(PyObject *number)
{
    return (int32_t)((PyLongObject *)number)->long_value.ob_digit[0];
}

/* The same for the offset of an instruction. */
static inline uint32_t compat_offset(PyObject *number)
{
    return ((PyLongObject *)number)->long_value.ob_digit[0];
}

/* Ints up to this one exist from the start; an event makes an object for a larger one. */
#if PY_VERSION_HEX >= 0x030f0000
#define COMPAT_LARGEST_SMALL_INT 1024
#else
#define COMPAT_LARGEST_SMALL_INT 256
#endif

/* 3.15 can subscribe to exceptions of one code object; before, only to all there are. */
#define COMPAT_HAS_LOCAL_UNWIND (PY_VERSION_HEX >= 0x030f0000)

/*
 * 3.12 takes the caches behind a call for an instruction without a line, when the call came back
 * from Python code and what follows is the target of a jump: it sends an event although the line
 * has not changed.
 */
#define COMPAT_REPEATS_LINES (PY_VERSION_HEX < 0x030d0000)

/* An event searches the line table for a line that is far from the start of its code. */
#define COMPAT_SEARCHES_LINES (PY_VERSION_HEX < 0x030d0300)

/* At a LINE event: whether the interpreter need not look up the line that ran before (3.13). */
static inline bool compat_knew_line_changed(const PyCodeObject *code, uint32_t unit)
{
#if PY_VERSION_HEX >= 0x030d0000 && COMPAT_SEARCHES_LINES
    const int8_t changed = -127;
    return code->_co_monitoring->lines[unit].line_delta == changed;
#else
    (void)code, (void)unit;
    return false;
#endif
}

#ifdef Py_GIL_DISABLED
#define COMPAT_IS_FREE_THREADED 1
#else
#define COMPAT_IS_FREE_THREADED 0
#endif

/* Slots of multi-phase initialisation that say where a module may be used. */
#if PY_VERSION_HEX >= 0x030d0000
#define COMPAT_MODULE_SLOTS                                                     \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED}, \
        {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define COMPAT_MODULE_SLOTS \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif

#endif
