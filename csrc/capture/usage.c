/* usage.c - see usage.h. */
#include "capture/usage.h"

#include "base/own_pages.h"
#include "base/ticks.h" /* mono_now_ns */
#include "capture/heap_account.h"
#include "capture/recorder.h"

#include <errno.h>
#include <unistd.h>

#define DETAIL_SHARE 400 /* of the time */
#define HEIGHT_SHARE 100
#define OWN_PAGES_EVERY 8u

static uint64_t arena_bytes = 1u << 20;
static uint32_t looking; /* 1: a thread is at it */

void usage_note_arena_bytes(uint64_t n_bytes)
{
    __atomic_store_n(&arena_bytes, n_bytes, __ATOMIC_RELAXED);
}

void usage_start_locked(const struct capture_options *options)
{
    struct usage *usage = &capture.usage;
    *usage = (struct usage){.interval_ns = options->interval_ns,
                            .start_ns = mono_now_ns(),
                            .status.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    for (unsigned i = 0; i < USAGE_FIELDS; i++)
        usage->values[i] = UINT64_MAX;
    usage_go_on_locked();
}

void usage_go_on_locked(void)
{
    struct usage *usage = &capture.usage;
    if (usage->interval_ns != 0)
        usage->ticker = ticker_start(usage->interval_ns, &capture.attention, ATTEND_DUE);
}

void usage_stop_locked(void)
{
    ticker_stop(capture.usage.ticker);
    capture.usage.ticker = NULL;
    __atomic_fetch_and(&capture.attention, ~(uint32_t)ATTEND_DUE, __ATOMIC_RELAXED);
}

void usage_forget(void)
{
    capture.usage.ticker = NULL;
    capture.attention &= ~(uint32_t)ATTEND_DUE;
    looking = 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void write_mark(uint64_t kind, uint64_t value)
{
    recorder_event(EVENT_MARK, (void *)(uintptr_t)kind, value);
}

/* Only what is another than before. */
static void write_field(enum usage_field field, uint64_t value)
{
    uint64_t *last = &capture.usage.values[field];
    if (*last == value)
        return;
    *last = value;
    write_mark(MARK_USAGE_FIRST + field, value);
}

static void write_resident(const struct resident *resident, uint64_t mono_ns)
{
    const uint64_t start = capture.usage.start_ns;
    write_field(USAGE_ANONYMOUS, resident->anonymous);
    write_field(USAGE_FILE, resident->file);
    write_field(USAGE_SHARED, resident->shared);
    write_mark(MARK_USAGE_TAKEN, mono_ns > start ? (mono_ns - start) / 1000 : 0);
}

/*
 * What the ticker has seen since, up to now. `released`: meanwhile that was given back, which is
 * recorded already; NULL = nothing. Without such a thing a look at the same moment tells the same.
 */
static void write_gap(uint64_t now_ns, const void *released)
{
    static struct ticker_sample samples[TICKER_SAMPLES]; /* whoever is looking has it */
    size_t n = capture.usage.ticker == NULL ? 0 : ticker_take(capture.usage.ticker, samples);
    for (size_t i = 0; i < n; i++) {
        if (released != NULL)
            write_mark(MARK_USAGE_DURING, (uintptr_t)released);
        else if (samples[i].mono_ns + capture.usage.interval_ns / 2 >= now_ns)
            continue;
        write_resident(&samples[i].resident, samples[i].mono_ns);
    }
}

/* ---- looking ------------------------------------------------------------------------------ */

static void look_at_arenas(void)
{
    const struct frame_reader *reader = &capture.reader;
    struct usage *usage = &capture.usage;
    struct pymalloc_view view;
    uintptr_t state, interp;
    if (reader->binding.attached_state == NULL || reader->binding.free_threaded ||
        reader->binding.is_finalizing() != 0)
        return;
    state = (uintptr_t)reader->binding.attached_state();
    if (state == 0)
        return; /* without the GIL the tables may be changing */
    interp = read_word(state + reader->layout.state_interp);
    if (!pymalloc_is_there(&usage->pymalloc, interp))
        usage->pymalloc = pymalloc_find(interp);
    if (usage->pymalloc.tables == 0 ||
        !pymalloc_read(usage->pymalloc.tables, __atomic_load_n(&arena_bytes, __ATOMIC_RELAXED),
                       &view))
        return;
    write_field(USAGE_ARENAS, view.arenas);
    write_field(USAGE_ARENA_TOUCHED, view.touched_bytes);
    write_field(USAGE_ARENA_USED, view.used_bytes);
}

/* The kernel walks over them. They are few, and grow at their beginning for the most part. */
static void look_at_own_pages(bool all)
{
    struct usage *usage = &capture.usage;
    const uint64_t n_bytes = own_pages_bytes();
    uint64_t own_anonymous, own_shared;
    if (!all && usage->n_details++ % OWN_PAGES_EVERY != 0 &&
        n_bytes <= usage->own_range_bytes + usage->own_range_bytes / OWN_PAGES_EVERY)
        return;
    usage->own_range_bytes = n_bytes;
    own_pages_resident(&own_anonymous, &own_shared);
    write_field(USAGE_OWN_ANONYMOUS, own_anonymous);
    write_field(USAGE_OWN_SHARED, own_shared);
}

static void look_at_details(bool all)
{
    struct heap_account heap;
    if (heap_account_read(&heap)) {
        write_field(USAGE_HEAP, heap.taken_bytes);
        write_field(USAGE_HEAP_FREE, heap.free_bytes);
    }
    look_at_arenas();
    look_at_own_pages(all);
}

enum look_kind { LOOK_IN_TURN, LOOK_ALL, LOOK_SIZE_ONLY };

static bool wants_details(enum look_kind kind, uint64_t now_ns, uint64_t size)
{
    const struct usage *usage = &capture.usage;
    const uint64_t height = usage->detailed_bytes;
    if (kind != LOOK_IN_TURN)
        return kind == LOOK_ALL;
    /* What a new height consists of is worth some time, a much larger one any. */
    return now_ns >= usage->next_detail_ns || size > height + height / 4 ||
           (size > height + height / 32 && now_ns >= usage->next_height_ns);
}

static void look(uint64_t now_ns, enum look_kind kind)
{
    struct usage *usage = &capture.usage;
    struct resident resident;
    uint64_t size, taken_ns;
    if (!proc_status_read(&usage->status, kind == LOOK_ALL, &resident))
        return;
    size = resident.anonymous + resident.file + resident.shared;
    if (wants_details(kind, now_ns, size)) {
        look_at_details(kind == LOOK_ALL);
        taken_ns = mono_now_ns() - now_ns;
        usage->next_detail_ns = now_ns + taken_ns * DETAIL_SHARE;
        usage->next_height_ns = now_ns + taken_ns * HEIGHT_SHARE;
        if (size > usage->detailed_bytes)
            usage->detailed_bytes = size;
    }
    write_resident(&resident, now_ns);
    usage->next_ns = now_ns + usage->interval_ns / 2;
    usage->wanted = false;
}

/* Whether what this thread records now is written: else nobody would know of a value that changed.
 */
static bool thread_writes(void)
{
    const struct capture_thread *thread = thread_self;
    return thread != NULL && thread->session == capture.session && !thread->muted && !thread->aside;
}

static void look_if_due(enum look_kind kind, const void *released)
{
    uint64_t now_ns;
    int saved = errno;
    /* Also from within a look, whose marks are events: the bit stays for the next event then. */
    if (capture.usage.interval_ns == 0 || !thread_writes() || !state_memory_is_ours() ||
        __atomic_exchange_n(&looking, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    __atomic_fetch_and(&capture.attention, ~(uint32_t)ATTEND_DUE, __ATOMIC_SEQ_CST);
    now_ns = mono_now_ns();
    write_gap(now_ns, released);
    if (kind != LOOK_IN_TURN || now_ns >= capture.usage.next_ns)
        look(now_ns, kind);
    else if (capture.usage.wanted)
        usage_look_soon();
    __atomic_store_n(&looking, 0, __ATOMIC_RELEASE);
    errno = saved;
}

void usage_look_soon(void)
{
    if (capture.usage.interval_ns == 0)
        return;
    capture.usage.wanted = true;
    __atomic_fetch_or(&capture.attention, ATTEND_DUE, __ATOMIC_RELAXED);
}

void usage_look(bool now)
{
    look_if_due(now ? LOOK_ALL : LOOK_IN_TURN, NULL);
}

void usage_look_at_end(bool ask_malloc)
{
    const bool is_known = capture.usage.values[USAGE_OWN_ANONYMOUS] != UINT64_MAX;
    look_if_due(ask_malloc && !is_known ? LOOK_ALL : LOOK_SIZE_ONLY, NULL);
}

/* That may have been an arena, which stands in the list of arenas until its free has come back. */
void usage_look_after_release(const void *address)
{
    look_if_due(LOOK_SIZE_ONLY, address);
}
