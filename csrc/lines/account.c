/* account.c - see account.h. */
#include "lines/account.h"

#include "base/ticks.h"

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
    uint64_t now = ticks_now();
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
    thread->last = ticks_now();
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

static struct code_table *table_new(struct lines_thread *thread, const struct lines_code *code)
{
    struct code_table *table;
    if (reserve_table_slot(thread, code->id) < 0)
        return NULL;
    table = arena_alloc(&thread->arena, sizeof *table + code->n_lines * sizeof table->cells[0]);
    if (table == NULL)
        return NULL;
    table->code = code;
    for (uint32_t i = 0; i < code->n_lines; i++)
        table->cells[i].ambiguous = code->ambiguous[i];
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
    struct lines_frame *frames = arena_alloc(&thread->arena, FRAMES_AT_ONCE * sizeof *frames);
    if (frames == NULL)
        return NULL;
    for (int i = 0; i < FRAMES_AT_ONCE; i++) {
        frames[i].below = i == 0 ? thread->top : &frames[i - 1];
        frames[i].above = i == FRAMES_AT_ONCE - 1 ? NULL : &frames[i + 1];
    }
    thread->top->above = frames;
    return frames;
}

struct lines_frame *account_prepare(struct lines_thread *thread, const void *key)
{
    struct lines_frame *frame = thread->top->above;
    struct code_table *table = find_table(thread, key);
    if (table == NULL || (frame == NULL && (frame = frames_more(thread)) == NULL))
        return NULL;
    frame->key = key;
    frame->cells = table->cells;
    frame->first_line = table->code->first_line;
    frame->n_lines = table->code->n_lines;
    frame->table = table;
    return frame;
}

void account_resume(struct lines_thread *thread, const void *key, uint32_t unit, uint64_t now)
{
    struct line_cell *line_below = thread->top->line;
    struct lines_frame *frame = account_push(thread, key);
    const struct lines_code *code;
    int32_t line;
    if (frame == NULL)
        return;
    line_below->exclusive += (int64_t)(now - thread->last);
    thread->last = now;
    code = frame->table->code;
    line = unit < code->n_units ? code->line_of_unit[unit] : 0;
    if (line <= 0)
        return;
    line_below->active--;
    frame->line = &frame->cells[line - code->first_line];
    frame->line->active++;
    frame->line_start = now;
    frame->start = now;
}

static struct lines_frame *find_below(const struct lines_thread *thread, const void *key)
{
    struct lines_frame *frame = thread->top;
    for (int i = 0; i < RESYNC_DEPTH && frame != &thread->bottom; i++, frame = frame->below)
        if (frame->key == key)
            return frame;
    return NULL;
}

void account_leave_below(struct lines_thread *thread, const void *key, uint64_t now)
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

/* ---- the result --------------------------------------------------------------------------- */

static size_t totals_bytes(uint32_t n_codes)
{
    size_t n_bytes = n_codes * sizeof(struct code_total);
    uint32_t n = 0;
    for (struct lines_code *code = lines_registry.codes; n < n_codes; n++, code = code->next)
        n_bytes += code->n_lines * sizeof(struct line_total);
    return n_bytes + 1; /* mapping nothing is an error */
}

static int totals_alloc(struct account_totals *totals)
{
    uint32_t n_codes = __atomic_load_n(&lines_registry.n_codes, __ATOMIC_ACQUIRE);
    struct line_total *lines;
    uint32_t n = 0;
    *totals = (struct account_totals){.n_codes = n_codes};
    totals->n_bytes = totals_bytes(n_codes);
    totals->codes = pages_alloc(totals->n_bytes);
    if (totals->codes == NULL)
        return -1;
    lines = (struct line_total *)(totals->codes + n_codes);
    for (struct lines_code *code = lines_registry.codes; n < n_codes; n++, code = code->next) {
        totals->codes[n].code = code;
        totals->codes[n].lines = lines;
        lines += code->n_lines;
    }
    return 0;
}

void account_totals_release(struct account_totals *totals)
{
    pages_free(totals->codes, totals->n_bytes);
    totals->codes = NULL;
}

static void add_table(struct code_total *total, const struct code_table *table)
{
    total->calls += table->calls;
    total->inclusive += table->inclusive;
    for (uint32_t i = 0; i < table->code->n_lines; i++) {
        const struct line_cell *cell = &table->cells[i];
        total->lines[i].raw_hits += cell->deliveries;
        total->lines[i].hits += cell->deliveries - cell->returns;
        total->lines[i].inclusive += cell->inclusive;
        total->lines[i].exclusive += cell->exclusive;
    }
}

/* Whose time is not in the tables yet. From the outermost frame inwards, as with recursion. */
static void add_running(struct account_totals *totals, const struct lines_thread *thread,
                        uint64_t now)
{
    const struct lines_frame *top = thread->top;
    const struct lines_frame *frame = thread->bottom.above;
    while (top != &thread->bottom && frame != NULL) {
        const struct code_table *table = frame->table;
        const struct line_cell *cell = frame->line;
        bool on_line = cell >= table->cells && cell < table->cells + table->code->n_lines;
        struct code_total *total;
        if (table->code->id > totals->n_codes)
            break; /* registered after the snapshot began */
        total = &totals->codes[table->code->id - 1];
        if (total->mark != thread->index && frame->start != 0)
            total->inclusive += (int64_t)(now - frame->start);
        total->mark = thread->index;
        if (on_line) {
            struct line_total *line = &total->lines[cell - table->cells];
            if (line->mark != thread->index)
                line->inclusive += (int64_t)(now - frame->line_start);
            line->mark = thread->index;
            if (frame == top)
                line->exclusive += (int64_t)(now - thread->last);
        }
        if (frame == top)
            break;
        frame = frame->above;
    }
}

int account_sum(struct account_totals *totals, uint64_t now)
{
    if (totals_alloc(totals) < 0)
        return -1;
    for (const struct lines_thread *thread = __atomic_load_n(&lines_threads, __ATOMIC_ACQUIRE);
         thread != NULL; thread = thread->next) {
        uint32_t n_tables = __atomic_load_n(&thread->n_tables, __ATOMIC_ACQUIRE);
        for (uint32_t id = 1; id < n_tables && id <= totals->n_codes; id++) {
            const struct code_table *table = __atomic_load_n(
                &__atomic_load_n(&thread->tables, __ATOMIC_ACQUIRE)[id], __ATOMIC_ACQUIRE);
            if (table != NULL)
                add_table(&totals->codes[id - 1], table);
        }
        add_running(totals, thread, now);
    }
    for (uint32_t i = 0; i < totals->n_codes; i++)
        for (uint32_t k = 0; k < totals->codes[i].code->n_lines; k++)
            totals->codes[i].exclusive += totals->codes[i].lines[k].exclusive;
    return 0;
}
