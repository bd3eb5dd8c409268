/* sampling.c - see sampling.h. */
#include "python/sampling.h"

#include "lines/sample.h"
#include "python/signals.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct frame_reader reader;

/* The first of two names that this interpreter exports; they changed between versions. */
static void *find_symbol(const char *name, const char *older_name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL ? found : dlsym(RTLD_DEFAULT, older_name);
}

/* For tests: a system that allows less, an interpreter of another kind. */
static bool is_forced(const char *limit)
{
    const char *forced = getenv("PROFTRACE_TEST_SAMPLING");
    return forced != NULL && strcmp(forced, limit) == 0;
}

static const char *find_layout(void)
{
    struct interp_binding *binding = &reader.binding;
    *binding = (struct interp_binding){
        .runtime = dlsym(RTLD_DEFAULT, "_PyRuntime"),
        .hexversion =
            getenv("PROFTRACE_TEST_UNKNOWN_LAYOUT") != NULL ? UINT32_MAX : (uint32_t)Py_Version,
        .free_threaded = COMPAT_IS_FREE_THREADED,
        .attached_state = (void *(*)(void))find_symbol("PyThreadState_GetUnchecked",
                                                       "_PyThreadState_UncheckedGet"),
        .known_state = (void *(*)(void))PyGILState_GetThisThreadState,
        .is_finalizing = (int (*)(void))find_symbol("Py_IsFinalizing", "_Py_IsFinalizing"),
    };
    if (binding->runtime == NULL || binding->attached_state == NULL ||
        binding->is_finalizing == NULL)
        return "the interpreter does not show its threads";
    return layout_find(&reader.layout, binding);
}

const char *sampling_frames(const struct frame_reader **frames)
{
    static bool has_layout;
    if (!has_layout) {
        const char *reason = find_layout();
        if (reason != NULL)
            return reason;
        has_layout = true;
    }
    *frames = &reader;
    return NULL;
}

static void limit(struct sample_host *host)
{
    host->without_perf = is_forced("ticks") || is_forced("none");
    host->without_ticks = is_forced("perf") || is_forced("none");
    if (is_forced("no-stack"))
        host->eval_loop = 0;
}

const char *sampling_start(void)
{
    struct sample_host host = {
        .frames = &reader,
        .ordinary_call = (uintptr_t)dlsym(RTLD_DEFAULT, "PyObject_Vectorcall"),
        .eval_loop = (uintptr_t)dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault"),
        .state_tracing = offsetof(PyThreadState, tracing),
        .call_soon = Py_AddPendingCall,
    };
    const struct frame_reader *frames;
    const char *reason = sampling_frames(&frames);
    limit(&host);
    if (reason == NULL)
        reason = sample_start(&host);
    if (reason == NULL)
        signals_install();
    return reason;
}
