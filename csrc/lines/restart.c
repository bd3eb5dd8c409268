/* restart.c - see restart.h. */
#include "lines/restart.h"

#include "base/ticks.h"
#include "lines/regime.h"
#include "lines/suspended.h"

#include <string.h>
#include <sys/syscall.h> /* SYS_gettid */
#include <unistd.h>

/* What a cell knows of its line, and on how many frames it is, stays. */
static void clear_cell(struct line_cell *cell)
{
    cell->deliveries = 0;
    cell->exclusive = cell->inclusive = cell->await = 0;
    cell->longest = cell->shortest_inverted = 0;
    cell->returns = cell->pending = 0;
    memset(cell->histogram, 0, sizeof cell->histogram);
}

static void clear_table(struct code_table *table)
{
    table->yields = table->debt = table->searched = 0;
    table->inclusive = 0;
    for (uint32_t i = 0; i < table->code->n_lines; i++)
        clear_cell(&table->cells[i]);
}

static void restart_frames(struct lines_thread *thread, uint64_t now)
{
    for (struct lines_frame *frame = thread->top; frame != &thread->bottom; frame = frame->below) {
        frame->callees = 0;
        frame->debt = thread->debt;
        frame->line_start = now;
        if (frame->start != 0)
            frame->start = now;
    }
    thread->bottom.callees = 0;
    thread->last = now;
}

static void restart_thread(struct lines_thread *thread, uint64_t now)
{
    for (uint32_t id = 1; id < thread->n_tables; id++)
        if (thread->tables[id] != NULL)
            clear_table(thread->tables[id]);
    for (struct call_edge *edge = thread->edges; edge != NULL; edge = edge->next) {
        edge->calls = 0;
        edge->inclusive = edge->exclusive = 0;
    }
    clear_cell(&thread->nowhere);
    thread->tid = (uint64_t)syscall(SYS_gettid);
    thread->start_mono_ns = mono_now_ns();
    restart_frames(thread, now);
}

static void clear_counters(struct counters *counters)
{
    for (uint32_t unit = 0; unit < counters->plan.n_units; unit++)
        if (counters->units[unit] != NO_COUNTER)
            counters->units[unit] = 0;
    memset(counters->losses, 0, counters->plan.n_instrs * sizeof *counters->losses);
}

void account_restart(uint64_t raw)
{
    struct lines_thread *thread = lines_self;
    for (struct hot_code *hot = regime_codes; hot != NULL; hot = hot->next)
        clear_counters(hot->counters);
    for (struct lines_code *code = lines_registry.codes; code != NULL; code = code->next)
        if (code->events_until_hot != UINT64_MAX)
            code->events_until_hot = 0;
    if (thread == NULL)
        return;
    restart_thread(thread, clock_virtual(thread->debt, raw));
    suspended_restart(thread, clock_virtual(thread->debt, raw), raw);
}
