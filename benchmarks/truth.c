/*
 * truth.c - where code spends its time when nobody measures it: an instrument for the accuracy
 * figures, of its own making so that it cannot share a fault with what it judges.
 *
 * One function, one thread. A one-shot timer of the wall clock interrupts the thread at random
 * moments; the handler notes at which instruction of the function the thread stood, callees
 * included. The function runs as plain code: no events, no decorator.
 */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#else
#include <internal/pycore_frame.h>
#endif

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEAST_NS 60000
#define SPREAD_NS 120000
#define MAX_DEPTH 200

static PyCodeObject *wanted; /* owned while running */
static PyThreadState *owner;
static uint64_t *counts; /* owned: by code unit */
static Py_ssize_t n_units;
static uint64_t outside;
static uint64_t dice = 88172645463325252u;
static timer_t timer;
static volatile sig_atomic_t running;

static void arm(void)
{
    struct itimerspec when = {{0, 0}, {0, 0}};
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    when.it_value.tv_nsec = LEAST_NS + (long)(dice % SPREAD_NS);
    timer_settime(timer, 0, &when, NULL);
}

static _PyInterpreterFrame *innermost(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    return owner->current_frame;
#else
    return owner->cframe->current_frame;
#endif
}

static PyCodeObject *code_of(const _PyInterpreterFrame *frame)
{
#if PY_VERSION_HEX >= 0x030e0000
    return (PyCodeObject *)((uintptr_t)frame->f_executable.bits & ~(uintptr_t)3);
#elif PY_VERSION_HEX >= 0x030d0000
    return (PyCodeObject *)frame->f_executable;
#else
    return frame->f_code;
#endif
}

static Py_ssize_t unit_of(const _PyInterpreterFrame *frame)
{
#if PY_VERSION_HEX >= 0x030d0000
    const _Py_CODEUNIT *at = frame->instr_ptr;
#else
    const _Py_CODEUNIT *at = frame->prev_instr;
#endif
    return at - (const _Py_CODEUNIT *)wanted->co_code_adaptive;
}

static void on_tick(int number, siginfo_t *info, void *context)
{
    _PyInterpreterFrame *frame = innermost();
    (void)number, (void)info, (void)context;
    if (!running)
        return;
    for (int depth = 0; frame != NULL && depth < MAX_DEPTH; depth++, frame = frame->previous) {
        Py_ssize_t unit;
        if (code_of(frame) != wanted)
            continue;
        unit = unit_of(frame);
        if (unit >= 0 && unit < n_units)
            counts[unit]++;
        arm();
        return;
    }
    outside++;
    arm();
}

static PyObject *truth_start(PyObject *module, PyObject *code)
{
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_RESTART | SA_SIGINFO};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 5};
    (void)module;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "start() takes a code object");
        return NULL;
    }
    wanted = (PyCodeObject *)Py_NewRef(code);
    n_units = Py_SIZE(code);
    counts = PyMem_RawCalloc((size_t)n_units, sizeof *counts);
    if (counts == NULL)
        return PyErr_NoMemory();
    owner = PyThreadState_Get();
    outside = 0;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    if (sigaction(SIGRTMIN + 5, &action, NULL) < 0 ||
        timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    running = 1;
    arm();
    Py_RETURN_NONE;
}

static PyObject *truth_stop(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(n_units);
    (void)module, (void)unused;
    running = 0;
    timer_delete(timer);
    for (Py_ssize_t i = 0; list != NULL && i < n_units; i++) {
        PyObject *count = PyLong_FromUnsignedLongLong(counts[i]);
        if (count == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, count);
    }
    PyMem_RawFree(counts);
    Py_CLEAR(wanted);
    return list;
}

static PyMethodDef methods[] = {
    {"start", truth_start, METH_O, "Sample this thread in a code object until stop()."},
    {"stop", truth_stop, METH_NOARGS, "Return the number of samples by code unit."},
    {0},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "truth", .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_truth(void)
{
    return PyModule_Create(&definition);
}
