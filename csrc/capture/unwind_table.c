/* unwind_table.c - see unwind_table.h. The format is that of the Linux Standard Base. */
#include "capture/unwind_table.h"

/* DW_EH_PE_*: the low four bits are the form, the next three what it is relative to. */
enum {
    PE_ULEB = 1,
    PE_U2 = 2,
    PE_U4 = 3,
    PE_U8 = 4,
    PE_SLEB = 9,
    PE_S2 = 10,
    PE_S4 = 11,
    PE_S8 = 12
};
enum { PE_PC_RELATIVE = 0x10, PE_DATA_RELATIVE = 0x30, PE_INDIRECT = 0x80, PE_OMIT = 0xff };
#define PE_TABLE (PE_DATA_RELATIVE | PE_S4)

static bool read_form(const uint8_t **at, uint8_t form, uintptr_t *value)
{
    switch (form & 0x0f) {
    case 0:
    case PE_U8:
    case PE_S8:
        *value = table_fixed(at, 8);
        return true;
    case PE_ULEB:
        *value = table_uleb(at);
        return true;
    case PE_U2:
        *value = table_fixed(at, 2);
        return true;
    case PE_U4:
        *value = table_fixed(at, 4);
        return true;
    case PE_SLEB:
        *value = (uintptr_t)table_sleb(at);
        return true;
    case PE_S2:
        *value = (uintptr_t)(int64_t)(int16_t)table_fixed(at, 2);
        return true;
    case PE_S4:
        *value = (uintptr_t)(int64_t)(int32_t)table_fixed(at, 4);
        return true;
    default:
        return false;
    }
}

static bool read_pointer(const uint8_t **at, uint8_t encoding, uintptr_t *value)
{
    uintptr_t from = (uintptr_t)*at;
    if (encoding & PE_INDIRECT || !read_form(at, encoding, value))
        return false;
    if ((encoding & 0x70) == PE_PC_RELATIVE)
        *value += from;
    else if ((encoding & 0x70) != 0)
        return false;
    return true;
}

/* ---- entries ------------------------------------------------------------------------------ */

/* Splits an entry into its body; NULL for the end mark and for the 64-bit form, which is not used.
 */
static const uint8_t *entry_body(const uint8_t *entry, const uint8_t **end)
{
    uint64_t n_bytes = table_fixed(&entry, 4);
    *end = entry + n_bytes;
    return n_bytes == 0 || n_bytes >= 0xfffffff0u ? NULL : entry;
}

static bool read_augmentation(struct table_common *common, const char *letters, const uint8_t **at)
{
    for (; *letters != '\0'; letters++) {
        uintptr_t unused;
        switch (*letters) {
        case 'R':
            common->pointer_encoding = *(*at)++;
            break;
        case 'P': {
            uint8_t encoding = *(*at)++;
            if (!read_form(at, encoding, &unused))
                return false;
            break;
        }
        case 'L':
            (*at)++;
            break;
        case 'S':
            common->is_signal_frame = true;
            break;
        case 'B': /* return addresses are signed */
            break;
        default:
            return false;
        }
    }
    return true;
}

static bool read_common(const uint8_t *entry, struct table_common *common)
{
    const uint8_t *at = entry_body(entry, &common->end);
    const char *letters;
    uint8_t version;
    if (at == NULL || table_fixed(&at, 4) != 0)
        return false;
    version = *at++;
    letters = (const char *)at;
    at += strlen(letters) + 1;
    common->code_step = table_uleb(&at);
    common->data_step = table_sleb(&at);
    if (version == 1)
        at++;
    else
        (void)table_uleb(&at); /* the column of the return address: known */
    common->pointer_encoding = 0;
    common->is_signal_frame = false;
    common->has_augmentation = letters[0] == 'z';
    if (common->has_augmentation) {
        uint64_t n_bytes = table_uleb(&at);
        common->program = at + n_bytes;
        return read_augmentation(common, letters + 1, &at);
    }
    common->program = at;
    return letters[0] == '\0';
}

static bool read_description(const uint8_t *entry, struct table_procedure *found)
{
    const uint8_t *at = entry_body(entry, &found->program_end);
    const uint8_t *field = at;
    uintptr_t n_bytes;
    if (at == NULL || !read_common(field - table_fixed(&at, 4), &found->common) ||
        !read_pointer(&at, found->common.pointer_encoding, &found->start) ||
        !read_form(&at, found->common.pointer_encoding & 0x0f, &n_bytes))
        return false;
    found->end = found->start + n_bytes;
    if (found->common.has_augmentation) {
        uint64_t n_skipped = table_uleb(&at);
        at += n_skipped;
    }
    found->program = at;
    return true;
}

struct header_row {
    int32_t start; /* both relative to the header */
    int32_t description;
};

bool table_find(const uint8_t *header, uintptr_t at, struct table_procedure *found)
{
    const uint8_t *field = header + 4;
    const struct header_row *rows;
    uintptr_t ignored, n_rows;
    size_t low = 0, high;
    if (header[0] != 1 || header[2] == PE_OMIT || header[3] != PE_TABLE ||
        !read_form(&field, header[1], &ignored) || !read_form(&field, header[2], &n_rows))
        return false;
    rows = (const struct header_row *)field;
    high = n_rows;
    while (low < high) { /* the first row that begins behind it */
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)header + (uintptr_t)(int64_t)rows[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low != 0 && read_description(header + rows[low - 1].description, found) &&
           at >= found->start && at < found->end;
}
