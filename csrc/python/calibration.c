/* calibration.c - see calibration.h. */
#include "python/calibration.h"

#include "lines/account.h"
#include "lines/calibrate.h"
#include "lines/regime.h"
#include "lines/sample.h"
#include "python/monitor.h"

#include <float.h>

#define ROUNDS 24
#define WARM_UP_CALLS 4
#define ITERATIONS 40
#define LINES_ROOM 16
#define UNITS_ROOM 2048
/* How far the costs of kinds of lines are apart, as measured for 16 of them: one deviation. */
#define SPREAD_OF_PLACES 0.08
#define EMPTY_LINE_NS 2.0

/*
 * The functions that are timed. `light` has lines that are next to nothing, `heavy` such as
 * programs are made of: the cost of an event is not the same in both.
 */
#define FIVE(text) text text text text text
static const char light_text[] = "def light(n):\n"
                                 "    a = b = 1\n"
                                 "    for i in range(n):\n" FIVE("        a = b\n        b = a\n");
/* So long that most of its instructions have large offsets. */
static const char long_text[] =
    "def long(n):\n"
    "    a = b = 1\n"
    "    for i in range(n // 8):\n" FIVE(FIVE(FIVE("        a = b\n        b = a\n")));
static const char other_text[] =
    "def heavy(n):\n"
    "    s = [0, 1, 2]\n"
    "    a = 7\n"
    "    for i in range(n):\n"
    "        b = a * 2 + i\n"
    "        c = s[1]\n"
    "        s[2] = b\n"
    "        d = b & 255\n"
    "        e = (a, b)\n"
    "        if b > c:\n"
    "            f = s[0] + d\n"
    "        g = e[0] - f\n"
    "        h = s.index(0)\n"
    "G = 1\n"
    "def globals(n):\n"
    "    s = [0, 1, 2]\n"
    "    for i in range(n):\n" FIVE(
        "        a = G\n        b = len(s)\n") "def loop(n):\n"
                                               "    for i in range(n):\n"
                                               "        a = i\n"
                                               "def callee():\n"
                                               "    pass\n"
                                               "def calls(n):\n"
                                               "    for i in range(n):\n"
                                               "        callee()\n"
                                               "def items(n):\n"
                                               "    for i in range(n):\n"
                                               "        yield i\n"
                                               "def drain(n):\n"
                                               "    for item in items(n):\n"
                                               "        pass\n";
#define LARGE_LINE 2000

enum { LIGHT, HEAVY, GLOBALS, LOOP, LARGE, CALLS, ITEMS, HOT, HOT_LONG, PROGRAMS };

static const struct {
    const char *run;    /* is called with a number */
    const char *probed; /* has the events */
    const char *text;
    int first_line;
    enum monitor_events events;
} programs[PROGRAMS] = {
    [LIGHT] = {"light", "light", light_text, 0, MONITOR_COLD},
    [HEAVY] = {"heavy", "heavy", other_text, 0, MONITOR_COLD},
    [GLOBALS] = {"globals", "globals", other_text, 0, MONITOR_COLD},
    [LOOP] = {"loop", "loop", other_text, 0, MONITOR_COLD},
    [LARGE] = {"light", "light", light_text, LARGE_LINE, MONITOR_COLD},
    [CALLS] = {"calls", "callee", other_text, 0, MONITOR_COLD},
    [ITEMS] = {"drain", "items", other_text, 0, MONITOR_COLD},
    [HOT] = {"light", "light", light_text, 0, MONITOR_HOT},
    [HOT_LONG] = {"long", "long", long_text, 0, MONITOR_HOT},
};

/* A program twice: the second copy never has events. Minima of even and of odd rounds. */
struct timed {
    PyObject *globals[2]; /* owned */
    PyObject *run[2];     /* borrowed */
    PyCodeObject *probed; /* owned */
    double ticks[2][2];   /* with events or not; even or odd round */
    double n_events;      /* LINE or INSTRUCTION events of one run */
    double n_large;       /* of them: INSTRUCTION events with a large offset */
    double line_ticks;    /* as the callbacks saw it: of one event of the first line */
};

/*
 * What the callbacks work on meanwhile: a thread, a frame and a table that nobody else knows, so
 * that nothing of it comes into the result.
 */
struct stage {
    struct lines_thread thread;
    struct lines_frame frame;
    struct code_table table;
    struct call_edge edge;
    struct lines_code code;
    struct line_cell cells[LINES_ROOM];
    int32_t line_of_unit[UNITS_ROOM];
    struct counters_slot slots[2]; /* the second one stays free */
    int64_t units[UNITS_ROOM];
};

static struct stage stage;

static void stage_set(PyCodeObject *code)
{
    Py_ssize_t n_units = Py_SIZE(code);
    memset(&stage, 0, sizeof stage);
    if (n_units > UNITS_ROOM)
        n_units = 0; /* no line is known then, and nothing counted */
    if (n_units != 0)
        stage.slots[0] = (struct counters_slot){.key = code, .units = stage.units};
    /* Only who is resumed asks for it. */
    for (Py_ssize_t i = 0; i < n_units && code->co_flags & CO_GENERATOR; i++) {
        int line = PyCode_Addr2Line(code, (int)i * 2);
        stage.line_of_unit[i] = line < code->co_firstlineno ? 0 : line;
    }
    stage.code.first_line = code->co_firstlineno;
    stage.code.n_lines = LINES_ROOM;
    stage.code.n_units = (uint32_t)n_units;
    stage.code.line_of_unit = stage.line_of_unit;
    stage.table.code = &stage.code;
    stage.table.cells = stage.cells;
    stage.edge.caller = &stage.thread.nowhere;
    stage.edge.callee = &stage.table;
    stage.frame.key = code;
    stage.frame.cells = stage.cells;
    stage.frame.first_line = code->co_firstlineno;
    stage.frame.n_plain = LINES_ROOM;
    stage.frame.table = &stage.table;
    stage.frame.edge = &stage.edge;
    stage.frame.below = &stage.thread.bottom;
    stage.thread.bottom.above = &stage.frame;
    stage.thread.bottom.line = &stage.thread.nowhere;
    stage.thread.top = &stage.thread.bottom;
}

static uint64_t stage_events(void)
{
    uint64_t n = 0;
    for (int i = 0; i < LINES_ROOM; i++)
        n += stage.cells[i].deliveries;
    for (int i = 0; i < UNITS_ROOM; i++)
        n += (uint64_t)stage.units[i];
    return n;
}

static uint64_t stage_large_events(void)
{
    uint64_t n = 0;
    for (int i = COMPAT_LARGEST_SMALL_INT / 2 + 1; i < UNITS_ROOM; i++)
        n += (uint64_t)stage.units[i];
    return n;
}

/*
 * Lets the callbacks of this thread work on the stage; returns by the same call with what was there
 * before. Nothing is hot yet, and nothing sampled.
 */
struct scene {
    struct lines_thread *thread;
    struct sample_thread *sampled;
    struct counters_table counters;
};

static struct scene scene_change(struct scene scene)
{
    struct scene before = {lines_self, sample_self, regime_counters};
    lines_self = scene.thread;
    sample_self = scene.sampled;
    regime_counters = scene.counters;
    return before;
}

/* ---- the programs -------------------------------------------------------------------------- */

/* Runs the text of some functions; returns their namespace, or NULL with an exception set. */
static PyObject *namespace_of(const char *text, int first_line)
{
    size_t n_bytes = strlen(text);
    char *shifted = PyMem_Malloc((size_t)first_line + n_bytes + 1);
    PyObject *code = NULL, *globals = PyDict_New(), *done = NULL;
    if (shifted == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    memset(shifted, '\n', (size_t)first_line);
    memcpy(shifted + first_line, text, n_bytes + 1);
    code = Py_CompileString(shifted, "<lprof>", Py_file_input);
    if (code != NULL && globals != NULL &&
        PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, globals, globals);
done:
    if (done == NULL)
        Py_CLEAR(globals);
    Py_XDECREF(done);
    Py_XDECREF(code);
    PyMem_Free(shifted);
    return globals;
}

static int prepare(struct timed *timed, int which)
{
    for (int copy = 0; copy < 2; copy++) {
        PyObject *globals = namespace_of(programs[which].text, programs[which].first_line);
        PyObject *probed;
        if (globals == NULL)
            return -1;
        timed->globals[copy] = globals;
        timed->run[copy] = PyDict_GetItemString(globals, programs[which].run);
        probed = PyDict_GetItemString(globals, programs[which].probed); /* borrowed */
        if (copy == 0)
            timed->probed = (PyCodeObject *)Py_NewRef(PyFunction_GetCode(probed));
    }
    timed->ticks[0][0] = timed->ticks[0][1] = timed->ticks[1][0] = timed->ticks[1][1] = DBL_MAX;
    timed->line_ticks = DBL_MAX;
    return monitor_subscribe_local(timed->probed, programs[which].events);
}

static void release(struct timed *timed)
{
    if (timed->probed != NULL && monitor_subscribe_local(timed->probed, MONITOR_NOTHING) < 0)
        PyErr_Clear(); /* it is never run again */
    Py_CLEAR(timed->probed);
    for (int copy = 0; copy < 2; copy++) {
        if (timed->globals[copy] != NULL)
            PyDict_Clear(timed->globals[copy]); /* the functions refer to it, and it to them */
        Py_CLEAR(timed->globals[copy]);
    }
}

/* ---- timing -------------------------------------------------------------------------------- */

static int run(PyObject *function, double *best)
{
    PyObject *n = PyLong_FromLong(ITERATIONS), *done;
    uint64_t start, end;
    if (n == NULL)
        return -1;
    start = ticks_now();
    done = PyObject_CallOneArg(function, n);
    end = ticks_now();
    Py_DECREF(n);
    if (done == NULL)
        return -1;
    Py_DECREF(done);
    if ((double)(end - start) < *best)
        *best = (double)(end - start);
    return 0;
}

static int run_both(struct timed *timed, int parity)
{
    const struct line_cell *cell = &stage.cells[1];
    double seen;
    stage_set(timed->probed);
    if (run(timed->run[0], &timed->ticks[0][parity]) < 0 ||
        run(timed->run[1], &timed->ticks[1][parity]) < 0)
        return -1;
    timed->n_events = (double)stage_events();
    timed->n_large = (double)stage_large_events();
    seen = cell->deliveries == 0 ? DBL_MAX : (double)cell->exclusive / (double)cell->deliveries;
    if (seen < timed->line_ticks)
        timed->line_ticks = seen;
    return 0;
}

static int measure(struct timed *timed)
{
    double ignored = DBL_MAX;
    for (int which = 0; which < PROGRAMS; which++) {
        stage_set(timed[which].probed);
        for (int i = 0; i < WARM_UP_CALLS; i++)
            if (run(timed[which].run[0], &ignored) < 0 || run(timed[which].run[1], &ignored) < 0)
                return -1;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int which = 0; which < PROGRAMS; which++)
            if (run_both(&timed[which], round & 1) < 0)
                return -1;
    return 0;
}

/* What the events of a run cost; *noise is how far the two halves of the rounds are apart. */
static double cost_of_run(const struct timed *timed, double *noise)
{
    double even = timed->ticks[0][0] - timed->ticks[1][0];
    double odd = timed->ticks[0][1] - timed->ticks[1][1];
    *noise = even > odd ? even - odd : odd - even;
    return even < odd ? even : odd;
}

static double clock_read_ticks(void)
{
    double best = DBL_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = ticks_now(), end = start;
        for (int k = 0; k < ITERATIONS; k++)
            end = ticks_now();
        if ((double)(end - start) / ITERATIONS < best)
            best = (double)(end - start) / ITERATIONS;
    }
    return best;
}

/* ---- from times to costs ------------------------------------------------------------------- */

static double at_least_0(double value)
{
    return value < 0 ? 0 : value;
}

/* The cost of one event, where nearly all events of the program are of one kind. */
static double cost_of_event(const struct timed *timed, double *noise)
{
    double cost = cost_of_run(timed, noise) / timed->n_events;
    *noise /= timed->n_events;
    return at_least_0(cost);
}

/* What a line takes without events. */
static double plain_line_ticks(const struct timed *timed)
{
    const double *best = timed->ticks[1];
    return (best[0] < best[1] ? best[0] : best[1]) / timed->n_events;
}

/*
 * Lines that do not begin a loop, with small numbers and, for their extra cost, a large one. The
 * usual cost is that of an event before a line that does something.
 */
static void evaluate_lines(const struct timed *timed, struct calibration *result)
{
    struct probe_measurement *kinds = result->kinds;
    double noise, light, heavy, globals, large, extra, spread;
    globals = cost_of_event(&timed[GLOBALS], &noise);
    large = cost_of_event(&timed[LARGE], &noise);
    heavy = cost_of_event(&timed[HEAVY], &noise);
    light = cost_of_event(&timed[LIGHT], &noise);
    extra = at_least_0(large - light);
    result->overlap.extra = at_least_0(light - heavy);
    result->overlap.light = plain_line_ticks(&timed[LIGHT]);
    result->overlap.heavy = plain_line_ticks(&timed[HEAVY]);
    spread = heavy * SPREAD_OF_PLACES + result->overlap.extra / 2 + noise;
    kinds[PROBE_LINE].whole = heavy;
    kinds[PROBE_GLOBAL].whole = at_least_0(globals - result->overlap.extra);
    for (int i = PROBE_LINE; i <= PROBE_LOOP; i++) {
        /* Half of it is CPython's way to us; the int of a large number is made on it. */
        kinds[i].before = kinds[PROBE_LINE].whole / 2;
        kinds[i].spread = spread;
        kinds[i + PROBE_LARGE].whole = extra;
        kinds[i + PROBE_LARGE].before = kinds[i].before + 0.6 * extra;
        kinds[i + PROBE_LARGE].spread = spread;
    }
}

/* Entering, leaving and loops, from what calls, items and iterations cost beyond their lines. */
static void evaluate_frames(const struct timed *timed, struct calibration *result)
{
    struct probe_measurement *kinds = result->kinds;
    double line = kinds[PROBE_LINE].whole + result->overlap.extra; /* all of them are light */
    double noise, call, both, loop, before;
    double clock = clock_read_ticks();
    call = cost_of_run(&timed[CALLS], &noise) / ITERATIONS - line;
    kinds[PROBE_START].whole = at_least_0((call - clock) / 2);
    kinds[PROBE_LEAVE].whole = at_least_0(call - kinds[PROBE_START].whole);
    /*
     * The callee's only line takes next to nothing, so what the callbacks saw of it is the way from
     * one reading of the clock to the other; it tells the way to the second one.
     */
    before = timed[CALLS].line_ticks - (line - kinds[PROBE_LINE].before);
    before = at_least_0(before - EMPTY_LINE_NS / result->ns_per_tick);
    both = cost_of_run(&timed[LOOP], &noise) - call - ITERATIONS * line;
    loop = at_least_0(both / (timed[LOOP].n_events - ITERATIONS));
    kinds[PROBE_LOOP].whole = at_least_0(loop - result->overlap.extra);
    both = cost_of_run(&timed[ITEMS], &noise) - call - ITERATIONS * line;
    both -= (timed[ITEMS].n_events - ITERATIONS) * loop;
    kinds[PROBE_YIELD].whole = kinds[PROBE_RESUME].whole = at_least_0(both / ITERATIONS / 2);
    for (int i = PROBE_START; i <= PROBE_RESUME; i++) {
        kinds[i].before = before < kinds[i].whole ? before : kinds[i].whole;
        kinds[i].spread = kinds[PROBE_LINE].spread;
    }
    for (int i = PROBE_LINE; i <= PROBE_LOOP; i++)
        kinds[i + PROBE_LARGE].whole += kinds[i].whole;
}

/* Probes of hot code. The cost of large offsets is that of large lines if they cannot be had. */
static void evaluate_instructions(const struct timed *timed, struct calibration *result)
{
    struct probe_measurement *kinds = result->kinds;
    double noise, small, large = kinds[PROBE_LINE_LARGE].whole - kinds[PROBE_LINE].whole;
    if (timed[HOT].n_events == 0)
        return;
    small = cost_of_event(&timed[HOT], &noise);
    if (timed[HOT_LONG].n_large > timed[HOT_LONG].n_events / 4)
        large = at_least_0(cost_of_event(&timed[HOT_LONG], &noise) - small) *
                timed[HOT_LONG].n_events / timed[HOT_LONG].n_large;
    kinds[PROBE_INSTRUCTION].whole = small;
    kinds[PROBE_INSTRUCTION_LARGE].whole = small + large;
}

int calibration_run(const struct tick_anchor *start)
{
    static struct timed timed[PROGRAMS];
    struct scene scene = {&stage.thread, (struct sample_thread *)&stage, {.slots = stage.slots}};
    struct calibration result = {0};
    struct tick_anchor end;
    int failed = 0;
    for (int which = 0; which < PROGRAMS && failed == 0; which++)
        failed = prepare(&timed[which], which);
    scene = scene_change(scene);
    if (failed == 0)
        failed = measure(timed);
    (void)scene_change(scene);
    for (int which = 0; which < PROGRAMS; which++)
        release(&timed[which]);
    if (COMPAT_IS_FREE_THREADED)
        PyGC_Collect(); /* there functions are not counted, but found to be gone */
    if (failed != 0)
        return -1;
    end = ticks_anchor();
    result.ns_per_tick = ticks_scale_ns(start, &end);
    evaluate_lines(timed, &result);
    evaluate_frames(timed, &result);
    evaluate_instructions(timed, &result);
    calibrate_use(&result);
    return 0;
}
