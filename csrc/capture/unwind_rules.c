/*
 * unwind_rules.c - see unwind_rules.h. Instructions are those of DWARF 5, section 6.4.
 */
#include "capture/unwind_rules.h"

#include "capture/unwind_arch.h"
#include "capture/unwind_table.h"

#if UNWIND_IS_SUPPORTED

/* ---- programs ----------------------------------------------------------------------------- */

enum base_kind { BASE_SP, BASE_FP, BASE_FP_LOADED, BASE_OTHER };
enum register_kind {
    REGISTER_SAME,
    REGISTER_AT_BASE,
    REGISTER_AT_FP,
    REGISTER_UNDEFINED,
    REGISTER_OTHER
};

struct register_rule {
    uint8_t kind; /* enum register_kind */
    int64_t offset;
};

/* One row of the table that a program describes, as far as it is followed. */
struct row {
    uint8_t base_kind;
    int64_t base_offset;
    struct register_rule fp, ra;
};

#define MOST_REMEMBERED 8

struct machine {
    const struct table_common *common;
    uint64_t ra_register;
    uintptr_t at; /* where the row begins */
    struct row row, initial;
    struct row remembered[MOST_REMEMBERED];
    unsigned n_remembered;
};

static void set_base(struct machine *machine, uint64_t reg, int64_t offset)
{
    machine->row.base_kind = reg == UNWIND_REG_SP   ? BASE_SP
                             : reg == UNWIND_REG_FP ? BASE_FP
                                                    : BASE_OTHER;
    machine->row.base_offset = offset;
}

static void set_register(struct machine *machine, uint64_t reg, uint8_t kind, int64_t offset)
{
    if (reg == UNWIND_REG_FP)
        machine->row.fp = (struct register_rule){kind, offset};
    else if (reg == machine->ra_register)
        machine->row.ra = (struct register_rule){kind, offset};
}

static void restore_register(struct machine *machine, uint64_t reg)
{
    if (reg == UNWIND_REG_FP)
        machine->row.fp = machine->initial.fp;
    else if (reg == machine->ra_register)
        machine->row.ra = machine->initial.ra;
}

enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };

/* True for "frame pointer + offset", which may be followed by a load. */
static bool is_fp_expression(const uint8_t *at, uint64_t n_bytes, int64_t *offset, bool *loaded)
{
    const uint8_t *end = at + n_bytes;
    if (n_bytes < 2 || *at++ != OP_BREG0 + UNWIND_REG_FP)
        return false;
    *offset = table_sleb(&at);
    *loaded = at + 1 == end && *at == OP_DEREF;
    return *loaded || at == end;
}

static void set_base_expression(struct machine *machine, const uint8_t **at)
{
    uint64_t n_bytes = table_uleb(at);
    int64_t offset = 0;
    bool loaded;
    machine->row.base_kind = BASE_OTHER;
    /* Functions that align the stack keep the way back there. */
    if (is_fp_expression(*at, n_bytes, &offset, &loaded) && loaded)
        machine->row.base_kind = BASE_FP_LOADED;
    machine->row.base_offset = offset;
    *at += n_bytes;
}

static void set_register_expression(struct machine *machine, const uint8_t **at, bool is_value)
{
    uint64_t reg = table_uleb(at);
    uint64_t n_bytes = table_uleb(at);
    int64_t offset = 0;
    bool loaded;
    if (!is_value && is_fp_expression(*at, n_bytes, &offset, &loaded) && !loaded)
        set_register(machine, reg, REGISTER_AT_FP, offset);
    else
        set_register(machine, reg, REGISTER_OTHER, 0);
    *at += n_bytes;
}

/* DW_CFA_*: the two top bits, or the whole byte where these are zero. */
enum {
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0,
    CFA_ADVANCE_1 = 2,
    CFA_ADVANCE_2 = 3,
    CFA_ADVANCE_4 = 4,
    CFA_OFFSET_EXTENDED = 5,
    CFA_RESTORE_EXTENDED = 6,
    CFA_UNDEFINED = 7,
    CFA_SAME_VALUE = 8,
    CFA_REGISTER = 9,
    CFA_REMEMBER = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_BASE = 0x0c,
    CFA_DEF_BASE_REGISTER = 0x0d,
    CFA_DEF_BASE_OFFSET = 0x0e,
    CFA_DEF_BASE_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_BASE_SF = 0x12,
    CFA_DEF_BASE_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_NEGATE_RA_STATE = 0x2d,
    CFA_ARGS_SIZE = 0x2e,
};

/* Instructions about registers. False: this one is not known. */
static bool run_register(struct machine *machine, uint8_t code, const uint8_t **at)
{
    const int64_t step = machine->common->data_step;
    uint64_t reg;
    switch (code) {
    case CFA_OFFSET_EXTENDED:
        reg = table_uleb(at);
        set_register(machine, reg, REGISTER_AT_BASE, (int64_t)table_uleb(at) * step);
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        reg = table_uleb(at);
        set_register(machine, reg, REGISTER_AT_BASE, table_sleb(at) * step);
        return true;
    case CFA_RESTORE_EXTENDED:
        restore_register(machine, table_uleb(at));
        return true;
    case CFA_UNDEFINED:
        set_register(machine, table_uleb(at), REGISTER_UNDEFINED, 0);
        return true;
    case CFA_SAME_VALUE:
        set_register(machine, table_uleb(at), REGISTER_SAME, 0);
        return true;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
        reg = table_uleb(at);
        (void)table_uleb(at);
        set_register(machine, reg, REGISTER_OTHER, 0);
        return true;
    case CFA_VAL_OFFSET_SF:
        reg = table_uleb(at);
        (void)table_sleb(at);
        set_register(machine, reg, REGISTER_OTHER, 0);
        return true;
    case CFA_EXPRESSION:
    case CFA_VAL_EXPRESSION:
        set_register_expression(machine, at, code == CFA_VAL_EXPRESSION);
        return true;
    default:
        return false;
    }
}

/* Instructions about the base. False: this one is not known. */
static bool run_base(struct machine *machine, uint8_t code, const uint8_t **at)
{
    const int64_t step = machine->common->data_step;
    uint64_t reg;
    switch (code) {
    case CFA_DEF_BASE:
        reg = table_uleb(at);
        set_base(machine, reg, (int64_t)table_uleb(at));
        return true;
    case CFA_DEF_BASE_SF:
        reg = table_uleb(at);
        set_base(machine, reg, table_sleb(at) * step);
        return true;
    case CFA_DEF_BASE_REGISTER:
        set_base(machine, table_uleb(at), machine->row.base_offset);
        return true;
    case CFA_DEF_BASE_OFFSET:
        machine->row.base_offset = (int64_t)table_uleb(at);
        return true;
    case CFA_DEF_BASE_OFFSET_SF:
        machine->row.base_offset = table_sleb(at) * step;
        return true;
    case CFA_DEF_BASE_EXPRESSION:
        set_base_expression(machine, at);
        return true;
    default:
        return false;
    }
}

static bool run_other(struct machine *machine, uint8_t code, const uint8_t **at)
{
    switch (code) {
    case CFA_NOP:
    case CFA_NEGATE_RA_STATE:
        return true;
    case CFA_ARGS_SIZE:
        (void)table_uleb(at);
        return true;
    case CFA_REMEMBER:
        if (machine->n_remembered == MOST_REMEMBERED)
            return false;
        machine->remembered[machine->n_remembered++] = machine->row;
        return true;
    case CFA_RESTORE_STATE:
        if (machine->n_remembered == 0)
            return false;
        machine->row = machine->remembered[--machine->n_remembered];
        return true;
    default:
        return run_base(machine, code, at) || run_register(machine, code, at);
    }
}

/* How far an instruction moves on, in code steps; -1: it is none of these. */
static int64_t advance_of(uint8_t code, const uint8_t **at)
{
    if ((code & 0xc0) == CFA_ADVANCE)
        return code & 0x3f;
    switch (code) {
    case CFA_ADVANCE_1:
        return (int64_t)table_fixed(at, 1);
    case CFA_ADVANCE_2:
        return (int64_t)table_fixed(at, 2);
    case CFA_ADVANCE_4:
        return (int64_t)table_fixed(at, 4);
    default:
        return -1;
    }
}

/* Runs until the row that `target` is in is complete. False: the row cannot be told. */
static bool run(struct machine *machine, const uint8_t *at, const uint8_t *end, uintptr_t target)
{
    while (at < end) {
        uint8_t code = *at++;
        int64_t advance = advance_of(code, &at);
        if (advance >= 0) {
            machine->at += (uintptr_t)advance * machine->common->code_step;
            if (machine->at > target)
                return true;
        } else if ((code & 0xc0) == CFA_OFFSET) {
            set_register(machine, code & 0x3f, REGISTER_AT_BASE,
                         (int64_t)table_uleb(&at) * machine->common->data_step);
        } else if ((code & 0xc0) == CFA_RESTORE) {
            restore_register(machine, code & 0x3f);
        } else if (!run_other(machine, code, &at)) {
            return false;
        }
    }
    return true;
}

/* ---- rules -------------------------------------------------------------------------------- */

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static struct unwind_rule rule_of(const struct row *row)
{
    struct unwind_rule rule = {
        .base_offset = (int32_t)row->base_offset,
        .fp_offset = (int32_t)row->fp.offset,
        .ra_offset = (int32_t)row->ra.offset,
    };
    if (row->ra.kind == REGISTER_UNDEFINED)
        return (struct unwind_rule){.kind = RULE_END};
    if (row->base_kind == BASE_OTHER || !fits(row->base_offset) || !fits(row->fp.offset) ||
        !fits(row->ra.offset) || row->ra.kind == REGISTER_OTHER || row->ra.kind == REGISTER_AT_FP)
        return (struct unwind_rule){.kind = RULE_UNKNOWN};
    rule.ra_in_link = row->ra.kind == REGISTER_SAME;
    if (rule.ra_in_link && !UNWIND_RA_IN_LINK)
        return (struct unwind_rule){.kind = RULE_UNKNOWN};
    rule.kind = row->base_kind == BASE_SP   ? RULE_SP
                : row->base_kind == BASE_FP ? RULE_FP
                                            : RULE_FP_LOADED;
    /* A value that is lost is as good as any: nothing further out can depend on it. */
    rule.fp_kind = row->fp.kind == REGISTER_AT_BASE ? SAVED_AT_BASE
                   : row->fp.kind == REGISTER_AT_FP ? SAVED_AT_FP
                                                    : SAVED_NOT;
    return rule;
}

struct unwind_rule unwind_rule_read(const uint8_t *eh_frame_hdr, uintptr_t at, uintptr_t *start,
                                    uintptr_t *end)
{
    struct unwind_rule unknown = {.kind = RULE_UNKNOWN};
    struct table_procedure found;
    struct machine machine;
    *start = *end = 0;
    if (eh_frame_hdr == NULL || !table_find(eh_frame_hdr, at, &found))
        return unknown;
    *start = found.start;
    *end = found.end;
    if (found.common.is_signal_frame)
        return (struct unwind_rule){.kind = RULE_SIGNAL};
    machine = (struct machine){
        .common = &found.common,
        .ra_register = UNWIND_RA_REGISTER,
        .row = {.base_kind = BASE_OTHER},
    };
    if (!run(&machine, found.common.program, found.common.end, UINTPTR_MAX))
        return unknown;
    machine.initial = machine.row;
    machine.at = found.start;
    if (!run(&machine, found.program, found.program_end, at))
        return unknown;
    return rule_of(&machine.row);
}

#else

struct unwind_rule unwind_rule_read(const uint8_t *eh_frame_hdr, uintptr_t at, uintptr_t *start,
                                    uintptr_t *end)
{
    (void)eh_frame_hdr;
    (void)at;
    *start = *end = 0;
    return (struct unwind_rule){.kind = RULE_UNKNOWN};
}

#endif
