/* newcomers.c - see newcomers.h. */
#include "python/newcomers.h"

#include "base/ticks.h"

/* Bits by address. A code object that shares one costs a needless recall, and nothing else. */
#define DISMISSED_BITS (1u << 20)
/* Room for the Python code that decides, when the program has used up its own. */
#define FRAMES_OF_OURS 200

bool newcomers_are_possible;

static PyObject *select_code; /* owned; NULL = nobody asks */
static PyObject *file_verdicts;
static PyObject *disable; /* owned */
static PyObject *restart; /* owned: sys.monitoring.restart_events */
static uint8_t dismissed[DISMISSED_BITS / 8];

int newcomers_ask(PyObject *select, PyObject *verdicts)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    if (!PyDict_Check(verdicts)) {
        PyErr_SetString(PyExc_TypeError, "a dict is needed");
        return -1;
    }
    if (disable == NULL) {
        disable = PyObject_GetAttrString(monitoring, "DISABLE");
        restart = PyObject_GetAttrString(monitoring, "restart_events");
    }
    if (disable == NULL || restart == NULL)
        return -1;
    Py_XSETREF(select_code, Py_NewRef(select));
    Py_XSETREF(file_verdicts, Py_NewRef(verdicts));
    newcomers_are_possible = true;
    return 0;
}

static uint32_t bit_of(const PyObject *code)
{
    return (uint32_t)(((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15u >> 32) & (DISMISSED_BITS - 1);
}

PyObject *newcomers_dismiss(PyObject *code)
{
    uint32_t bit = bit_of(code);
    __atomic_fetch_or(&dismissed[bit >> 3], (uint8_t)(1 << (bit & 7)), __ATOMIC_SEQ_CST);
    return Py_NewRef(disable);
}

/* Another thread may have registered the code meanwhile: then it needs its events. */
static PyObject *dismiss_unless_registered(PyObject *code)
{
    PyObject *answer = newcomers_dismiss(code);
    if (registry_find(code) == NULL)
        return answer;
    Py_DECREF(answer);
    Py_RETURN_NONE;
}

bool newcomers_were_dismissed(const PyObject *code)
{
    uint32_t bit = bit_of(code);
    return __atomic_load_n(&dismissed[bit >> 3], __ATOMIC_SEQ_CST) >> (bit & 7) & 1;
}

int newcomers_recall(void)
{
    PyObject *done;
    if (!newcomers_are_possible)
        return 0;
    done = PyObject_CallNoArgs(restart);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/*
 * The garbage collector would run destructors of the program, of which we see no events while a
 * callback runs; and the program may stand at its recursion limit.
 */
static PyObject *ask(PyObject *code)
{
    PyObject *globals = PyEval_GetGlobals(); /* borrowed: of the frame that starts */
    int collects = PyGC_Disable();
    PyObject *answer;
    compat_add_frames(FRAMES_OF_OURS);
    answer =
        PyObject_CallFunctionObjArgs(select_code, code, globals == NULL ? Py_None : globals, NULL);
    compat_add_frames(-FRAMES_OF_OURS);
    if (collects)
        PyGC_Enable();
    return answer;
}

PyObject *newcomers_meet(struct lines_thread *thread, PyObject *code)
{
    uint64_t start = ticks_now();
    PyObject *verdict, *answer;
    bool is_wanted;
    if (select_code == NULL)
        Py_RETURN_NONE;
    verdict = PyDict_GetItemWithError(file_verdicts, ((PyCodeObject *)code)->co_filename);
    if (verdict == Py_False)
        return dismiss_unless_registered(code);
    answer = ask(code);
    thread->debt += (ticks_now() - start) << PROBE_SHIFT; /* nobody's time */
    if (answer == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_MemoryError))
            return NULL;
        PyErr_Clear(); /* it is asked about again at its next start */
        Py_RETURN_NONE;
    }
    is_wanted = answer == Py_True;
    Py_DECREF(answer);
    return is_wanted ? Py_NewRef(Py_None) : dismiss_unless_registered(code);
}
