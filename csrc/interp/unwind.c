/* unwind.c - see unwind.h. */
#include "interp/unwind.h"

#include "base/table.h" /* hash_u64 */
#include "interp/objects.h"

#include <ucontext.h>

#define FURTHEST_FRAME ((uintptr_t)64 << 20) /* a frame is smaller than this */

static bool outdated; /* atomic */

int unwind_read_objects(void)
{
    __atomic_store_n(&outdated, false, __ATOMIC_RELAXED);
    return objects_read();
}

bool unwind_is_outdated(void)
{
    return __atomic_load_n(&outdated, __ATOMIC_RELAXED);
}

static struct unwind_row *row_at(struct unwind *unwind, uintptr_t pc)
{
    struct unwind_row *row = &unwind->rows[hash_u64(pc) % UNWIND_ROWS];
    const struct object_list *list = objects_list();
    uint32_t generation = list == NULL ? 0 : list->generation;
    const struct object_code *object;
    if (likely(row->pc == pc && row->generation == generation))
        return row;
    object = objects_find(list, pc);
    row->pc = pc;
    row->generation = generation;
    if (object != NULL) {
        row_read(unwind->peek, object->index, pc, row);
        return row;
    }
    __atomic_store_n(&outdated, true, __ATOMIC_RELAXED);
    row->is_known = false;
    row->start = row->end = 0;
    return row;
}

/* ---- frames --------------------------------------------------------------------------------- */

void unwind_start(struct unwind_frame *frame, const void *context)
{
    const ucontext_t *interrupted = context;
    frame->is_interrupted = true;
#if defined(__x86_64__)
    static const uint8_t places[UNWIND_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
    };
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        frame->registers[i] = (uintptr_t)interrupted->uc_mcontext.gregs[places[i]];
    frame->pc = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    for (unsigned i = 0; i < UNWIND_SP; i++)
        frame->registers[i] = interrupted->uc_mcontext.regs[i];
    frame->registers[UNWIND_SP] = interrupted->uc_mcontext.sp;
    frame->pc = interrupted->uc_mcontext.pc;
#else
    (void)interrupted;
    *frame = (struct unwind_frame){0};
#endif
}

const struct unwind_row *unwind_row_of(struct unwind *unwind, const struct unwind_frame *frame)
{
    /* A call can be the last instruction of a procedure: its own address is what counts. */
    return row_at(unwind, frame->is_interrupted ? frame->pc : frame->pc - 1);
}

/* Pointer authentication keeps a signature in the bits that no address of user space has. */
static uintptr_t strip_signature(uintptr_t address)
{
#if defined(__aarch64__)
    return address & (((uintptr_t)1 << 48) - 1);
#else
    return address;
#endif
}

bool unwind_step(struct unwind *unwind, struct unwind_frame *frame)
{
    const struct unwind_row *row = unwind_row_of(unwind, frame);
    uintptr_t old_sp = frame->registers[UNWIND_SP];
    uintptr_t old_pc = frame->pc;
    uintptr_t cfa;
    if (!row->is_known)
        return false;
    cfa = frame->registers[row->cfa_register] + (uintptr_t)(intptr_t)row->cfa_offset;
    if (row->cfa_is_loaded && !peek_word(unwind->peek, cfa, &cfa))
        return false;
    if (cfa < old_sp || cfa - old_sp > FURTHEST_FRAME)
        return false;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        if ((row->saved >> i & 1) &&
            !peek_word(unwind->peek, cfa + (uintptr_t)(intptr_t)row->offsets[i],
                       &frame->registers[i]))
            return false;
#if defined(__aarch64__)
    frame->pc = frame->registers[30];
#else
    if (row->return_offset == 0)
        return false;
#endif
    if (row->return_offset != 0 &&
        !peek_word(unwind->peek, cfa + (uintptr_t)(intptr_t)row->return_offset, &frame->pc))
        return false;
    frame->pc = strip_signature(frame->pc);
    frame->registers[UNWIND_SP] = cfa;
    frame->is_interrupted = false;
    return frame->pc != 0 && (cfa != old_sp || frame->pc != old_pc);
}

bool unwind_procedure(struct unwind *unwind, uintptr_t at, uintptr_t *start, uintptr_t *end)
{
    const struct unwind_row *row = row_at(unwind, at);
    *start = row->start;
    *end = row->end;
    return row->end != 0;
}

bool unwind_is_fragment(struct unwind *unwind, uintptr_t start)
{
    const struct unwind_row *row = row_at(unwind, start);
#if defined(__aarch64__)
    const int32_t at_entry = 0;
#else
    const int32_t at_entry = 8; /* the call has pushed the return address */
#endif
    return row->is_known && row->start == start &&
           (row->cfa_register != UNWIND_SP || row->cfa_offset != at_entry || row->saved != 0);
}
