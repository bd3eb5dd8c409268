/* unwind_row.c - see unwind_row.h. Names and numbers are DWARF's (version 5, section 6.4). */
#include "interp/unwind_row.h"

#define MOST_REMEMBERED 8
#define MOST_FIELDS 33u /* columns of the table that are kept: registers and the return address */

enum pointer_encoding {
    FORM_WORD = 0x00,
    FORM_ULEB = 0x01,
    FORM_U16 = 0x02,
    FORM_U32 = 0x03,
    FORM_U64 = 0x04,
    FORM_SLEB = 0x09,
    FORM_S16 = 0x0a,
    FORM_S32 = 0x0b,
    FORM_S64 = 0x0c,
    BASE_PC = 0x10,
    BASE_INDEX = 0x30,
    ENCODING_OMITTED = 0xff,
};

/* A place in foreign memory that is being read; latches `bad` like base/bytes.h. */
struct cursor {
    struct peek *peek;
    uintptr_t at;
    uintptr_t end;
    bool bad;
};

/* ---- reading ------------------------------------------------------------------------------ */

static uint64_t take(struct cursor *from, size_t n_bytes)
{
    uint64_t value = 0; /* both architectures are little-endian */
    if (from->bad || from->end - from->at < n_bytes ||
        !peek_bytes(from->peek, from->at, &value, n_bytes)) {
        from->bad = true;
        return 0;
    }
    from->at += n_bytes;
    return value;
}

static uint64_t take_uleb(struct cursor *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !from->bad; shift += 7) {
        uint64_t byte = take(from, 1);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    from->bad = true;
    return 0;
}

static int64_t take_sleb(struct cursor *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !from->bad; shift += 7) {
        uint64_t byte = take(from, 1);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            bool is_negative = byte & 0x40;
            return (int64_t)(is_negative && shift < 57 ? value | ~0ull << (shift + 7) : value);
        }
    }
    from->bad = true;
    return 0;
}

static uint64_t take_form(struct cursor *from, uint8_t form)
{
    switch (form) {
    case FORM_ULEB:
        return take_uleb(from);
    case FORM_SLEB:
        return (uint64_t)take_sleb(from);
    case FORM_U16:
        return take(from, 2);
    case FORM_U32:
        return take(from, 4);
    case FORM_S16:
        return (uint64_t)(int16_t)take(from, 2);
    case FORM_S32:
        return (uint64_t)(int32_t)take(from, 4);
    case FORM_WORD:
    case FORM_U64:
    case FORM_S64:
        return take(from, 8);
    default:
        from->bad = true;
        return 0;
    }
}

static uintptr_t take_pointer(struct cursor *from, uint8_t encoding, uintptr_t index)
{
    uintptr_t here = from->at;
    uintptr_t value = take_form(from, encoding & 0x0f);
    switch (encoding & 0xf0) {
    case 0:
        return value;
    case BASE_PC:
        return here + value;
    case BASE_INDEX:
        return index + value;
    default:
        from->bad = true;
        return 0;
    }
}

/* ---- the entry of a procedure --------------------------------------------------------------- */

/* A procedure's entry (FDE) and what it shares with others (CIE). */
struct entry {
    uintptr_t start, end; /* of the procedure */
    struct cursor common; /* instructions */
    struct cursor own;
    uint64_t code_factor;
    int64_t data_factor;
    uint64_t return_column;
    uint8_t pointer_encoding;
    bool has_augmentation;
    bool is_signal_frame;
};

/* Returns the address of the FDE whose procedure starts last at or before pc; 0 if there is none.
 */
static uintptr_t find_entry(struct peek *peek, uintptr_t index, uintptr_t pc)
{
    struct cursor head = {.peek = peek, .at = index, .end = index + 64};
    uint64_t version = take(&head, 1);
    uint8_t section_encoding = (uint8_t)take(&head, 1);
    uint8_t count_encoding = (uint8_t)take(&head, 1);
    uint8_t table_encoding = (uint8_t)take(&head, 1);
    uint64_t low = 0, high;
    if (version != 1 || table_encoding != (BASE_INDEX | FORM_S32))
        return 0;
    take_pointer(&head, section_encoding, index);
    high = take_pointer(&head, count_encoding, index);
    if (head.bad)
        return 0;
    /* The pairs are (start, entry), both relative to the index. Invariant: start[low - 1] <= pc. */
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        int32_t start;
        if (!peek_bytes(peek, head.at + middle * 8, &start, sizeof start))
            return 0;
        if (index + (uintptr_t)(intptr_t)start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    int32_t entry;
    if (low == 0 || !peek_bytes(peek, head.at + (low - 1) * 8 + 4, &entry, sizeof entry))
        return 0;
    return index + (uintptr_t)(intptr_t)entry;
}

static bool open_record(struct peek *peek, uintptr_t at, struct cursor *body)
{
    uint32_t n_bytes;
    if (!peek_bytes(peek, at, &n_bytes, sizeof n_bytes) || n_bytes == 0 || n_bytes == UINT32_MAX)
        return false;
    *body = (struct cursor){.peek = peek, .at = at + 4, .end = at + 4 + n_bytes};
    return true;
}

static bool read_common(struct peek *peek, uintptr_t at, struct entry *entry)
{
    struct cursor *from = &entry->common;
    char letters[8] = {0};
    uint64_t version;
    unsigned n = 0;
    if (!open_record(peek, at, from) || take(from, 4) != 0)
        return false;
    version = take(from, 1);
    while ((letters[n] = (char)take(from, 1)) != 0)
        if (++n == sizeof letters - 1)
            return false;
    entry->code_factor = take_uleb(from);
    entry->data_factor = take_sleb(from);
    entry->return_column = version == 1 ? take(from, 1) : take_uleb(from);
    entry->has_augmentation = letters[0] == 'z';
    entry->pointer_encoding = FORM_WORD;
    if (!entry->has_augmentation)
        return letters[0] == 0 && !from->bad;
    uint64_t n_bytes = take_uleb(from);
    uintptr_t end = from->at + n_bytes;
    for (unsigned i = 1; letters[i] != 0 && !from->bad; i++) {
        if (letters[i] == 'R')
            entry->pointer_encoding = (uint8_t)take(from, 1);
        else if (letters[i] == 'L')
            take(from, 1);
        else if (letters[i] == 'P') {
            uint8_t encoding = (uint8_t)take(from, 1);
            take_form(from, encoding & 0x0f);
        } else if (letters[i] == 'S')
            entry->is_signal_frame = true;
        else if (letters[i] != 'B')
            break; /* the length says where it ends */
    }
    from->at = end;
    return !from->bad;
}

static bool read_entry(struct peek *peek, uintptr_t index, uintptr_t at, struct entry *entry)
{
    struct cursor *from = &entry->own;
    uintptr_t back;
    uint64_t distance;
    *entry = (struct entry){0};
    if (!open_record(peek, at, from))
        return false;
    back = from->at;
    distance = take(from, 4);
    if (distance == 0 || !read_common(peek, back - distance, entry))
        return false;
    entry->start = take_pointer(from, entry->pointer_encoding, index);
    entry->end = entry->start + take_form(from, entry->pointer_encoding & 0x0f);
    if (entry->has_augmentation) {
        uint64_t n_bytes = take_uleb(from);
        from->at += n_bytes;
    }
    return !from->bad;
}

/* ---- the rows of a procedure ---------------------------------------------------------------- */

/* Small: the whole state lies on the stack of a signal handler. */
struct columns {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_is_loaded;
    uint64_t saved; /* bit a column */
    int16_t offsets[MOST_FIELDS];
};

struct machine {
    const struct entry *entry;
    struct columns now;
    struct columns first; /* after the common part */
    struct columns remembered[MOST_REMEMBERED];
    unsigned n_remembered;
    uintptr_t location;
    bool bad;
};

static void save(struct machine *machine, uint64_t column, int64_t offset)
{
    if (column >= MOST_FIELDS)
        return; /* no register that a call keeps */
    if (offset < INT16_MIN || offset > INT16_MAX)
        machine->bad = true;
    machine->now.saved |= 1ull << column;
    machine->now.offsets[column] = (int16_t)offset;
}

static void restore(struct machine *machine, uint64_t column)
{
    if (column >= MOST_FIELDS)
        return;
    machine->now.saved &= ~(1ull << column);
    machine->now.saved |= machine->first.saved & 1ull << column;
    machine->now.offsets[column] = machine->first.offsets[column];
}

static void unsave(struct machine *machine, uint64_t column)
{
    if (column < MOST_FIELDS)
        machine->now.saved &= ~(1ull << column);
}

/* Two forms are understood: register + offset, and what lies there. */
static void define_by_expression(struct machine *machine, struct cursor *from)
{
    enum { OP_DEREF = 0x06, OP_BREG0 = 0x70, OP_BREG31 = 0x8f };
    uint64_t n_bytes = take_uleb(from);
    struct cursor text = {.peek = from->peek, .at = from->at, .end = from->at + n_bytes};
    uint64_t op = take(&text, 1);
    from->at += n_bytes;
    machine->now.cfa_register = op - OP_BREG0;
    machine->now.cfa_offset = take_sleb(&text);
    machine->now.cfa_is_loaded = text.at < text.end && take(&text, 1) == OP_DEREF;
    if (op < OP_BREG0 || op > OP_BREG31 || text.at != text.end || text.bad)
        machine->bad = true;
}

static void define_cfa(struct machine *machine, uint64_t cfa_register, int64_t offset)
{
    machine->now.cfa_register = cfa_register;
    machine->now.cfa_offset = offset;
    machine->now.cfa_is_loaded = false;
}

static void execute_extended(struct machine *machine, struct cursor *from, uint8_t op)
{
    const struct entry *entry = machine->entry;
    uint64_t column;
    switch (op) {
    case 0x00: /* nop */
        return;
    case 0x01: /* set_loc */
        machine->location = take_pointer(from, entry->pointer_encoding, 0);
        return;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        machine->location += take(from, 1u << (op - 2)) * entry->code_factor;
        return;
    case 0x05: /* offset_extended */
        column = take_uleb(from);
        save(machine, column, (int64_t)take_uleb(from) * entry->data_factor);
        return;
    case 0x06: /* restore_extended */
        restore(machine, take_uleb(from));
        return;
    case 0x07: /* undefined */
    case 0x08: /* same_value */
        unsave(machine, take_uleb(from));
        return;
    case 0x0a: /* remember_state */
        if (machine->n_remembered == MOST_REMEMBERED)
            machine->bad = true;
        else
            machine->remembered[machine->n_remembered++] = machine->now;
        return;
    case 0x0b: /* restore_state */
        if (machine->n_remembered == 0)
            machine->bad = true;
        else
            machine->now = machine->remembered[--machine->n_remembered];
        return;
    case 0x0c: /* def_cfa */
        column = take_uleb(from);
        define_cfa(machine, column, (int64_t)take_uleb(from));
        return;
    case 0x0d: /* def_cfa_register */
        machine->now.cfa_register = take_uleb(from);
        return;
    case 0x0e: /* def_cfa_offset */
        machine->now.cfa_offset = (int64_t)take_uleb(from);
        return;
    case 0x0f: /* def_cfa_expression */
        define_by_expression(machine, from);
        return;
    case 0x11: /* offset_extended_sf */
        column = take_uleb(from);
        save(machine, column, take_sleb(from) * entry->data_factor);
        return;
    case 0x12: /* def_cfa_sf */
        column = take_uleb(from);
        define_cfa(machine, column, take_sleb(from) * entry->data_factor);
        return;
    case 0x13: /* def_cfa_offset_sf */
        machine->now.cfa_offset = take_sleb(from) * entry->data_factor;
        return;
    case 0x2d: /* aarch64: the return address is signed or not from here on; see strip_signature */
        return;
    case 0x2e: /* GNU_args_size */
        take_uleb(from);
        return;
    default: /* what is saved in registers or by expressions */
        machine->bad = true;
    }
}

/* Executes up to the row of `pc`. */
static void execute(struct machine *machine, struct cursor from, uintptr_t pc)
{
    while (from.at < from.end && !machine->bad && machine->location <= pc) {
        uint8_t op = (uint8_t)take(&from, 1);
        uint8_t low = op & 0x3f;
        if (from.bad)
            break;
        switch (op >> 6) {
        case 1: /* advance_loc */
            machine->location += low * machine->entry->code_factor;
            break;
        case 2: /* offset */
            save(machine, low, (int64_t)take_uleb(&from) * machine->entry->data_factor);
            break;
        case 3: /* restore */
            restore(machine, low);
            break;
        default:
            execute_extended(machine, &from, low);
        }
    }
    machine->bad |= from.bad;
}

static bool take_row(const struct columns *now, uint64_t return_column, struct unwind_row *row)
{
    if (now->cfa_register >= UNWIND_REGISTERS || now->cfa_offset != (int32_t)now->cfa_offset ||
        return_column >= MOST_FIELDS)
        return false;
    row->cfa_register = (uint8_t)now->cfa_register;
    row->cfa_offset = (int32_t)now->cfa_offset;
    row->cfa_is_loaded = now->cfa_is_loaded;
    row->saved = 0;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
        if (!(now->saved >> i & 1))
            continue;
        row->saved |= 1u << i;
        row->offsets[i] = now->offsets[i];
    }
    row->return_offset = 0;
    if (now->saved >> return_column & 1)
        row->return_offset = now->offsets[return_column];
    return true;
}

void row_read(struct peek *peek, uintptr_t index, uintptr_t pc, struct unwind_row *row)
{
    uintptr_t at = find_entry(peek, index, pc);
    struct entry entry;
    struct machine machine = {.entry = &entry};
    row->is_known = false;
    row->start = row->end = 0;
    if (at == 0 || !read_entry(peek, index, at, &entry) || pc < entry.start || pc >= entry.end)
        return;
    row->start = entry.start;
    row->end = entry.end;
    if (entry.is_signal_frame)
        return;
    machine.location = entry.start;
    execute(&machine, entry.common, pc);
    machine.first = machine.now;
    machine.location = entry.start;
    execute(&machine, entry.own, pc);
    row->is_known = !machine.bad && take_row(&machine.now, entry.return_column, row);
}
