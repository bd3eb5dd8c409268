/* sample_fork.c - see sample_fork.h. */
#include "lines/sample_fork.h"

#include "base/ticks.h"
#include "lines/sample.h"
#include "lines/sample_thread.h"

#define HOOKS_MOST_FRAMES 64u
/* Hooks that take longer have the helper thread beside them: nobody looks at threads without. */
#define HOOKS_MOST_NS 100000000u

static bool is_paused;
static uint64_t forked_ns;
static TLS_FAST uintptr_t forking_frame; /* the one that called fork in this thread */

/* Whether that frame waits below others, as it does below hooks. */
static bool hooks_are_running(void)
{
    const struct frame_reader *reader = sample_host.frames;
    uintptr_t frame = frames_top(reader);
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
static int start_helper(void *unused)
{
    if (!__atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE) ||
        (hooks_are_running() && sample_host.call_soon(start_helper, unused) == 0))
        return 0;
    (void)!helper_start();
    return 0;
}

void fork_pause(void)
{
    is_paused = __atomic_load_n(&sample_is_running, __ATOMIC_ACQUIRE);
    if (!is_paused)
        return;
    forking_frame = frames_top(sample_host.frames);
    helper_stop(true);
}

void fork_resume(void)
{
    if (!is_paused)
        return;
    forked_ns = mono_now_ns();
    if (sample_host.call_soon(start_helper, NULL) < 0)
        (void)!helper_start();
}
