/* account.c - see account.h. */
#include "lines/account.h"

#include "base/ticks.h"
#include "lines/call_edges.h"
#include "lines/line_search.h"
#include "lines/suspended.h"

#include <pthread.h>
#include <sys/syscall.h> /* SYS_gettid */
#include <unistd.h>

#define FRAMES_AT_ONCE 256
/* How far down the stack the frame of an unexpected event is looked for. */
#define RESYNC_DEPTH 1000

TLS_FAST struct lines_thread *lines_self;
struct lines_thread *lines_threads;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the lists of threads */
static struct lines_thread *idle;
static uint32_t n_threads;
static pthread_key_t thread_end;
static bool has_thread_end;

/* The thread ends: whatever it left on the stack is closed, and its tables are up for reuse. */
static void thread_ended(void *value)
{
    struct lines_thread *thread = value;
    uint64_t now = clock_virtual(thread->debt, ticks_now());
    while (thread->top != &thread->bottom)
        account_pop(thread, now);
    lines_self = NULL;
    pthread_mutex_lock(&lock);
    thread->next_idle = idle;
    idle = thread;
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_thread_ends(void)
{
    has_thread_end = pthread_key_create(&thread_end, thread_ended) == 0;
}

void account_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    suspended_after_fork();
    lines_threads = lines_self;
    if (lines_self != NULL)
        lines_self->next = NULL;
    idle = NULL;
}

static struct lines_thread *thread_new_unlocked(void)
{
    struct lines_thread *thread = idle;
    if (thread != NULL) {
        idle = thread->next_idle;
        return thread;
    }
    thread = pages_alloc(sizeof *thread);
    if (thread == NULL)
        return NULL;
    thread->bottom.line = &thread->nowhere;
    thread->top = &thread->bottom;
    thread->index = ++n_threads;
    thread->hot_scale = HOT_SCALE_ONE;
    thread->tid = (uint64_t)syscall(SYS_gettid);
    thread->start_mono_ns = mono_now_ns();
    thread->next = lines_threads;
    __atomic_store_n(&lines_threads, thread, __ATOMIC_RELEASE);
    return thread;
}

struct lines_thread *account_thread(void)
{
    struct lines_thread *thread = lines_self;
    if (likely(thread != NULL))
        return thread;
    pthread_mutex_lock(&lock);
    thread = thread_new_unlocked();
    pthread_mutex_unlock(&lock);
    if (thread == NULL)
        return NULL;
    thread->last = clock_virtual(thread->debt, ticks_now());
    lines_self = thread;
    if (has_thread_end)
        pthread_setspecific(thread_end, thread);
    return thread;
}

/* Grows by copying; the old array stays where it is for a result that is being written. */
static int reserve_table_slot(struct lines_thread *thread, uint32_t id)
{
    struct code_table **tables;
    uint32_t n = thread->n_tables == 0 ? 64 : thread->n_tables;
    if (id < thread->n_tables)
        return 0;
    while (n <= id)
        n *= 2;
    tables = arena_alloc(&thread->arena, n * sizeof *tables);
    if (tables == NULL)
        return -1;
    for (uint32_t i = 0; i < thread->n_tables; i++)
        tables[i] = thread->tables[i];
    __atomic_store_n(&thread->tables, tables, __ATOMIC_RELEASE);
    __atomic_store_n(&thread->n_tables, n, __ATOMIC_RELEASE);
    return 0;
}

static void *align_to_cache_line(void *at)
{
    return (void *)(((uintptr_t)at + CACHE_LINE_BYTES - 1) & ~(uintptr_t)(CACHE_LINE_BYTES - 1));
}

static struct code_table *table_new(struct lines_thread *thread, const struct lines_code *code)
{
    struct code_table *table;
    if (reserve_table_slot(thread, code->id) < 0)
        return NULL;
    table = arena_alloc(&thread->arena,
                        sizeof *table + CACHE_LINE_BYTES + code->n_lines * sizeof table->cells[0]);
    if (table == NULL)
        return NULL;
    table->code = code;
    table->cells = align_to_cache_line(table + 1);
    for (uint32_t i = 0; i < code->n_lines; i++) {
        table->cells[i].ambiguous = code->ambiguous[i];
        if (code->ambiguous[i] || line_search_has(code, i))
            table->cells[i].covered = COVERED_NOT_PLAIN;
        table->cells[i].probe = code->probes[i];
    }
    __atomic_store_n(&thread->tables[code->id], table, __ATOMIC_RELEASE);
    return table;
}

/* Returns the thread's table of a code object; NULL when it is not registered, or no memory. */
static struct code_table *find_table(struct lines_thread *thread, const void *key)
{
    uintptr_t address = (uintptr_t)key;
    struct code_table **recent = &thread->recent[(address >> 4 ^ address >> 9) % RECENT_TABLES];
    const struct lines_code *code;
    struct code_table *table = *recent;
    if (likely(table != NULL && table->code->key == key))
        return table;
    code = registry_find(key);
    if (code == NULL)
        return NULL;
    table = code->id < thread->n_tables ? thread->tables[code->id] : NULL;
    if (table == NULL)
        table = table_new(thread, code);
    if (table != NULL)
        *recent = table;
    return table;
}

/* Adds frames above the top, which is the last there is. */
static NOINLINE struct lines_frame *frames_more(struct lines_thread *thread)
{
    struct lines_frame *frames =
        arena_alloc(&thread->arena, FRAMES_AT_ONCE * sizeof *frames + CACHE_LINE_BYTES);
    if (frames == NULL)
        return NULL;
    frames = align_to_cache_line(frames);
    for (int i = 0; i < FRAMES_AT_ONCE; i++) {
        frames[i].below = i == 0 ? thread->top : &frames[i - 1];
        frames[i].above = i == FRAMES_AT_ONCE - 1 ? NULL : &frames[i + 1];
    }
    thread->top->above = frames;
    return frames;
}

/* The table whose line is running, NULL if that is none: the frame's, unless it has no line yet. */
static const struct code_table *running_table(const struct lines_thread *thread)
{
    const struct lines_frame *frame = thread->top;
    while (frame != &thread->bottom && frame->start == 0)
        frame = frame->below;
    return frame->table; /* the bottom frame has none */
}

/* Fills in the frame above the top for a code object that a line of a table calls. */
static struct lines_frame *prepare(struct lines_thread *thread, const void *key,
                                   const struct code_table *caller, const struct line_cell *line)
{
    struct lines_frame *frame = thread->top->above;
    struct code_table *table = find_table(thread, key);
    struct call_edge *edge;
    if (table == NULL || (frame == NULL && (frame = frames_more(thread)) == NULL) ||
        (edge = call_edges_find(thread, caller, line, table)) == NULL)
        return NULL;
    frame->key = key;
    frame->cells = table->cells;
    frame->first_line = table->code->first_line;
    frame->n_plain =
        table->code->search == NULL ? table->code->n_lines : table->code->search->first_line;
    frame->table = table;
    frame->edge = edge;
    return frame;
}

struct lines_frame *account_prepare(struct lines_thread *thread, const void *key)
{
    return prepare(thread, key, running_table(thread), thread->top->line);
}

void account_start_from(struct lines_thread *thread, const void *key, const void *caller,
                        uint32_t unit)
{
    const struct code_table *table = find_table(thread, caller);
    const struct lines_code *code = table == NULL ? NULL : table->code;
    int32_t line = code != NULL && unit < code->n_units ? code->line_of_unit[unit] : 0;
    struct lines_frame *frame;
    if (line <= 0) {
        account_start(thread, key);
        return;
    }
    frame = prepare(thread, key, table, &table->cells[line - code->first_line]);
    if (frame == NULL)
        return;
    account_push_prepared(thread, frame);
    frame->edge->calls++;
}

struct lines_frame *account_push(struct lines_thread *thread, const void *key)
{
    struct lines_frame *frame = thread->top->above;
    if ((frame == NULL || frame->key != key || frame->edge->caller != thread->top->line) &&
        (frame = account_prepare(thread, key)) == NULL)
        return NULL;
    account_push_prepared(thread, frame);
    return frame;
}

/* ---- what is not plain -------------------------------------------------------------------- */

void account_pop(struct lines_thread *thread, uint64_t now)
{
    struct lines_frame *top = thread->top;
    if (top->start != 0) {
        account_end_hit(top->line, (int64_t)(now - top->line_start));
        account_pop_started(thread, now);
        return;
    }
    top->line->exclusive += (int64_t)(now - thread->last);
    thread->last = now;
    thread->top = top->below;
    top->below->line->covered--;
    top->below->callees += top->callees;
    top->table->active--;
    top->edge->active--;
}

void account_start(struct lines_thread *thread, const void *key)
{
    struct lines_frame *frame = account_push(thread, key);
    if (frame != NULL)
        frame->edge->calls++;
}

struct line_cell *account_line(struct lines_thread *thread, int32_t line, uint64_t raw)
{
    struct lines_frame *top = thread->top;
    struct line_cell *before = top->line;
    uint32_t index = (uint32_t)(line - top->first_line);
    struct line_cell *cell;
    uint64_t now;
    if (index >= top->table->code->n_lines) {
        clock_charge(&thread->debt, PROBE_LINE);
        return NULL;
    }
    cell = top->cells + index;
    now = clock_event(&thread->debt, cell->probe, raw);
    before->exclusive += (int64_t)(now - thread->last);
    thread->last = now;
    top->repeats = top->start != 0 && before == cell;
    if (top->start != 0) {
        int64_t hit = (int64_t)(now - top->line_start);
        if ((uint32_t)before->covered == 0)
            before->inclusive += hit;
        account_end_hit(before, hit);
    } else {
        top->start = now;
        top->debt = thread->debt;
        top->below->callees += top->callees; /* called before it had a line of its own */
        top->callees = 0;
    }
    top->line = cell;
    top->line_start = now;
    cell->deliveries++;
    return cell->ambiguous ? cell : NULL;
}

/* ---- suspended frames --------------------------------------------------------------------- */

/* Charges a line for how long a frame was suspended on it. */
static void add_await(const struct lines_thread *thread, struct code_table *table,
                      const struct suspension *suspended, uint64_t now, uint64_t raw)
{
    uint32_t index = (uint32_t)(suspended->line - table->code->first_line);
    /* Virtual clocks of two threads have nothing to do with each other. */
    int64_t waited = (int64_t)(suspended->thread == thread ? now - suspended->since
                                                           : raw - suspended->since_raw);
    if (suspended->line != 0 && index < table->code->n_lines && waited > 0)
        table->cells[index].await += waited;
}

void account_yield(struct lines_thread *thread, const void *key, const void *frame, uint64_t now,
                   uint64_t raw)
{
    struct suspension suspended = {
        .frame = frame, .key = key, .thread = thread, .since = now, .since_raw = raw};
    const struct lines_frame *top = thread->top;
    if (unlikely(top->key != key)) {
        account_leave(thread, key, now);
        return;
    }
    top->table->yields++;
    if (likely(top->start != 0)) {
        suspended.line = top->first_line + (int32_t)(top->line - top->cells);
        suspended.spent = (int64_t)(now - top->line_start);
        account_pop_started(thread, now);
    } else {
        account_pop(thread, now);
    }
    suspended_put(&suspended);
}

/* The line goes on with what its hit had taken when the frame was suspended. */
static void continue_hit(struct lines_frame *frame, const struct suspension *suspended)
{
    frame->line_start -= (uint64_t)suspended->spent;
    if ((uint32_t)frame->line->covered ==
        0) /* then the whole of it is going to be added once more */
        frame->line->inclusive -= suspended->spent;
}

void account_resume(struct lines_thread *thread, const void *key, const void *frame_address,
                    uint32_t unit, uint64_t now, uint64_t raw, bool wanted)
{
    struct line_cell *line_below = thread->top->line;
    struct lines_frame *frame = account_push(thread, key);
    const struct lines_code *code;
    struct suspension suspended;
    bool known = suspended_take(frame_address, key, &suspended);
    int32_t line;
    if (frame == NULL)
        return;
    if (known && wanted)
        add_await(thread, frame->table, &suspended, now, raw);
    line_below->exclusive += (int64_t)(now - thread->last);
    thread->last = now;
    code = frame->table->code;
    line = unit < code->n_units ? code->line_of_unit[unit] : 0;
    if (line <= 0)
        return;
    frame->line = &frame->cells[line - code->first_line];
    frame->line_start = now;
    frame->start = now;
    frame->debt = thread->debt;
    if (known && suspended.line == line)
        continue_hit(frame, &suspended);
    else if (known && suspended.line != 0)
        account_end_hit(&frame->cells[suspended.line - code->first_line], suspended.spent);
}

/* What was charged for an event turns out to be that of hot code. */
static void charge_as_hot(struct lines_thread *thread, enum probe_kind kind)
{
    thread->debt -= probe_costs[kind].whole;
    account_charge_hot(thread, kind);
}

void account_yield_aside(struct lines_thread *thread, const void *key, const void *frame,
                         uint32_t unit, uint64_t now, uint64_t raw)
{
    struct code_table *table = find_table(thread, key);
    struct suspension suspended = {
        .frame = frame, .key = key, .thread = thread, .since = now, .since_raw = raw};
    charge_as_hot(thread, PROBE_YIELD);
    if (table == NULL)
        return;
    table->yields++;
    if (unit < table->code->n_units && table->code->line_of_unit[unit] > 0)
        suspended.line = table->code->line_of_unit[unit];
    suspended_put(&suspended);
}

void account_resume_aside(struct lines_thread *thread, const void *key, const void *frame,
                          uint64_t now, uint64_t raw, bool wanted)
{
    struct code_table *table = find_table(thread, key);
    struct suspension suspended;
    charge_as_hot(thread, PROBE_RESUME);
    if (suspended_take(frame, key, &suspended) && wanted && table != NULL)
        add_await(thread, table, &suspended, now, raw);
}

/* ---- the unexpected ----------------------------------------------------------------------- */

static struct lines_frame *find_below(const struct lines_thread *thread, const void *key)
{
    struct lines_frame *frame = thread->top;
    for (int i = 0; i < RESYNC_DEPTH && frame != &thread->bottom; i++, frame = frame->below)
        if (frame->key == key)
            return frame;
    return NULL;
}

void account_leave(struct lines_thread *thread, const void *key, uint64_t now)
{
    struct lines_frame *frame = find_below(thread, key);
    if (frame == NULL)
        return;
    while (thread->top != frame)
        account_pop(thread, now);
    account_pop(thread, now);
}

int account_resynchronise(struct lines_thread *thread, const void *key, uint64_t now)
{
    struct lines_frame *frame = find_below(thread, key);
    if (frame == NULL)
        return account_push(thread, key) == NULL ? -1 : 0;
    while (thread->top != frame)
        account_pop(thread, now);
    return 0;
}

/* ---- lines with events that do not count -------------------------------------------------- */

void account_end_hit(struct line_cell *cell, int64_t ticks)
{
    if (!cell->ambiguous) {
        account_add_hit(cell, ticks);
        return;
    }
    if (cell->pending != 0)
        account_add_hit(cell, (int64_t)(cell->pending - 1));
    cell->pending = ticks < 0 ? 1 : (uint64_t)ticks + 1;
}

void account_came_back(struct lines_thread *thread, struct line_cell *cell, uint32_t unit)
{
    struct lines_frame *top = thread->top;
    const struct lines_code *code = top->table->code;
    uint64_t pending = cell->pending == 0 ? 0 : cell->pending - 1;
    bool is_hit = unit >= code->n_units ||
                  !(unit_is_marked(code->skip, unit) ||
                    (top->repeats && code->repeat != NULL && unit_is_marked(code->repeat, unit)));
    if (cell->pending != 0 && is_hit)
        account_add_hit(cell, (int64_t)pending); /* the one before is over */
    cell->pending = 0;
    if (is_hit)
        return;
    cell->returns++;
    top->line_start -= pending;
    if ((uint32_t)cell->covered == 0)
        cell->inclusive -= (int64_t)pending;
}

void account_give_credits(struct lines_thread *thread, uint32_t unit)
{
    const struct lines_frame *top = thread->top;
    const struct lines_code *code = top->table->code;
    for (uint32_t i = 0; i < code->n_credits; i++) {
        uint32_t index = (uint32_t)(code->credits[i].line - top->first_line);
        if (code->credits[i].unit == unit && index < code->n_lines)
            top->cells[index].returns--; /* a hit without an event; wraps, and so does its sum */
    }
}

bool account_is_empty(void)
{
    for (const struct lines_thread *thread = __atomic_load_n(&lines_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        uint32_t n_tables = __atomic_load_n(&thread->n_tables, __ATOMIC_ACQUIRE);
        struct code_table *const *tables = __atomic_load_n(&thread->tables, __ATOMIC_ACQUIRE);
        for (uint32_t id = 1; id < n_tables; id++)
            if (__atomic_load_n(&tables[id], __ATOMIC_ACQUIRE) != NULL)
                return false;
    }
    return true;
}
