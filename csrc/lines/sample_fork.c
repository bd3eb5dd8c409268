/* sample_fork.c - see sample_fork.h. */
#include "lines/sample_fork.h"

#include "base/ticks.h"
#include "lines/sample.h"
#include "lines/sample_thread.h"
#include "lines/saver.h"

#define HOOKS_MOST_FRAMES 64u
/* Hooks that take longer have the helper thread beside them: nobody looks at threads without. */
#define HOOKS_MOST_NS 100000000u

static const struct frame_reader *frames;
static int (*call_soon)(int (*function)(void *), void *argument);
static bool is_paused;
static bool saver_is_paused;
static uint64_t forked_ns;
static TLS_FAST uintptr_t forking_frame; /* the one that called fork in this thread */

/* Whether that frame waits below others, as it does below hooks. */
static bool hooks_are_running(void)
{
    const struct frame_reader *reader = frames;
    uintptr_t frame = reader == NULL ? 0 : frames_top(reader);
    if (frame == forking_frame || mono_now_ns() - forked_ns > HOOKS_MOST_NS)
        return false;
    for (uint32_t i = 0; i < HOOKS_MOST_FRAMES && frame != 0; i++) {
        frame = frames_below(reader, frame);
        if (frame == forking_frame)
            return frame != 0;
    }
    return false;
}

/* A pending call, so it holds the GIL. */
static int start_helpers(void *unused)
{
    if (hooks_are_running() && call_soon(start_helpers, unused) == 0)
        return 0;
    if (saver_is_paused)
        saver_resume();
    saver_is_paused = false;
    if (__atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE))
        (void)!helper_start();
    return 0;
}

void fork_prepare(const struct frame_reader *reader,
                  int (*soon)(int (*function)(void *), void *argument))
{
    frames = reader;
    call_soon = soon;
}

void fork_pause(void)
{
    bool samples = __atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE);
    saver_is_paused = saver_pause() || saver_is_paused;
    is_paused = (samples || saver_is_paused) && call_soon != NULL;
    if (!is_paused)
        return;
    forking_frame = frames == NULL ? 0 : frames_top(frames);
    if (samples)
        helper_stop(true);
}

void fork_resume(void)
{
    if (!is_paused)
        return;
    forked_ns = mono_now_ns();
    if (call_soon(start_helpers, NULL) < 0)
        start_helpers(NULL);
}
