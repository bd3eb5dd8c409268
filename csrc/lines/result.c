/* result.c - see result.h. */
#include "lines/result.h"

#include "format/block.h"
#include "format/record.h"
#include "lines/account.h"
#include "lines/parts.h"
#include "lines/sample.h"
#include "lines/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <sys/stat.h>
#include <string.h>
#include <unistd.h>

/* A block is closed when this much is in it; one record may be larger. */
#define BLOCK_WANTED_BYTES ((size_t)1 << 20)
/* More than any record needs besides its texts. */
#define RECORD_ROOM 256

struct result {
    int fd;
    int error; /* errno of the first failure */
    struct put payload;
    uint8_t *buffer; /* owned pages: the payload of the block that is being filled */
    size_t buffer_bytes;
    uint8_t *packed; /* owned pages: room for the block as it is stored */
    size_t packed_bytes;
    void *workspace; /* owned pages */
    uint8_t kind;    /* of the block that is being filled */
    uint32_t n_records;
    uint64_t ordinals[BLOCK_END + 1];
};

static void write_all(struct result *result, const uint8_t *bytes, size_t n_bytes)
{
    while (result->error == 0 && n_bytes != 0) {
        ssize_t n = write(result->fd, bytes, n_bytes);
        if (n < 0) {
            if (errno != EINTR)
                result->error = errno;
            continue;
        }
        bytes += n;
        n_bytes -= (size_t)n;
    }
}

static int reserve(uint8_t **buffer, size_t *have, size_t want)
{
    uint8_t *larger;
    if (want <= *have)
        return 0;
    larger = pages_grow(*buffer, *have, want);
    if (larger == NULL)
        return -1;
    *buffer = larger;
    *have = want;
    return 0;
}

static void block_close(struct result *result)
{
    size_t raw_bytes = (size_t)(result->payload.p - result->buffer);
    struct block_header header = {
        .kind = result->kind,
        .n_records = result->n_records,
        .first_ordinal = result->ordinals[result->kind],
        .mono_ns = mono_now_ns(),
    };
    size_t n_bytes;
    if (result->error != 0 || result->n_records == 0)
        return;
    if (reserve(&result->packed, &result->packed_bytes, block_bound(raw_bytes)) < 0) {
        result->error = ENOMEM;
        return;
    }
    n_bytes = block_pack(&header, result->buffer, raw_bytes, result->packed, result->packed_bytes,
                         result->workspace);
    if (n_bytes == 0) {
        result->error = EFBIG;
        return;
    }
    write_all(result, result->packed, n_bytes);
    result->ordinals[result->kind] += result->n_records;
    result->n_records = 0;
    result->payload = put_over(result->buffer, result->buffer_bytes);
}

/* Returns where the next record goes, with room for it and its texts. */
static struct put *record_begin(struct result *result, uint8_t kind, size_t text_bytes)
{
    size_t used = (size_t)(result->payload.p - result->buffer);
    size_t want = RECORD_ROOM + text_bytes;
    if (result->n_records != 0 && (kind != result->kind || used + want > BLOCK_WANTED_BYTES)) {
        block_close(result);
        used = 0;
    }
    if (reserve(&result->buffer, &result->buffer_bytes, used + want) < 0)
        result->error = ENOMEM;
    result->payload = put_over(result->buffer, result->buffer_bytes);
    result->payload.p += used;
    result->payload.bad = result->error != 0;
    result->kind = kind;
    result->n_records++;
    return &result->payload;
}

/* What is known only at the end. */
static void put_calibration(struct result *result)
{
    char text[512];
    size_t n_bytes = calibrate_describe(text, sizeof text);
    if (n_bytes != 0)
        record_put_meta(
            record_begin(result, BLOCK_DICT, sizeof text),
            &(struct rec_meta){"calibration", strlen("calibration"), text, (uint32_t)n_bytes});
}

static void put_sampling(struct result *result)
{
    char text[SAMPLE_DESCRIBE_ROOM];
    size_t n_bytes = sample_describe(text, sizeof text);
    if (n_bytes != 0)
        record_put_meta(record_begin(result, BLOCK_DICT, n_bytes),
                        &(struct rec_meta){"sampling", 8, text, (uint32_t)n_bytes});
}

static void put_dictionary(struct result *result, const struct account_totals *totals)
{
    for (struct lines_meta *meta = lines_registry.metas; meta != NULL; meta = meta->next)
        record_put_meta(
            record_begin(result, BLOCK_DICT, meta->key_bytes + meta->value_bytes),
            &(struct rec_meta){meta->key, meta->key_bytes, meta->value, meta->value_bytes});
    put_sampling(result);
    put_calibration(result);
    for (struct lines_text *text = lines_registry.texts; text != NULL; text = text->next)
        record_put_string(record_begin(result, BLOCK_DICT, text->n_bytes),
                          &(struct rec_string){text->id, text->text, text->n_bytes});
    for (uint32_t i = 0; i < totals->n_codes; i++) {
        const struct lines_code *code = totals->codes[i].code;
        struct rec_code rec = {
            .id = code->id,
            .name = code->name,
            .qualname = code->qualname,
            .file = code->file,
            .first_line = code->def_line,
            .flags = code->flags,
        };
        record_put_code(record_begin(result, BLOCK_DICT, 0), &rec);
    }
    for (struct lines_source *source = lines_registry.sources; source != NULL;
         source = source->next)
        record_put_source(
            record_begin(result, BLOCK_DICT, source->n_bytes),
            &(struct rec_source){source->id, source->file, source->text, source->n_bytes});
    for (const struct lines_thread *thread = lines_threads; thread != NULL; thread = thread->next)
        record_put_thread(record_begin(result, BLOCK_DICT, 0),
                          &(struct rec_thread){.index = thread->index,
                                               .tid = thread->tid,
                                               .start_mono_ns = thread->start_mono_ns});
}

/* What the clock shows can be below nothing: its own cost is taken out, and known only roughly. */
static int64_t duration_ns(int64_t ticks, double scale_ns)
{
    return ticks < 0 ? 0 : (int64_t)((double)ticks * scale_ns);
}

static uint64_t error_ns(uint64_t ticks, double scale_ns)
{
    return (uint64_t)((double)ticks * scale_ns + 0.5);
}

/* Writes the buckets up to the last one in use. */
static struct put put_histogram(const struct line_total *line,
                                uint8_t bytes[LINE_BUCKETS * VARINT_MAX_BYTES])
{
    struct put to = put_over(bytes, LINE_BUCKETS * VARINT_MAX_BYTES);
    unsigned n = LINE_BUCKETS;
    while (n != 0 && line->histogram[n - 1] == 0)
        n--;
    for (unsigned i = 0; i < n; i++)
        put_varint(&to, line->histogram[i]);
    return to;
}

static void put_line(struct result *result, const struct lines_code *code, uint32_t index,
                     const struct line_total *line, double scale_ns)
{
    uint8_t histogram[LINE_BUCKETS * VARINT_MAX_BYTES];
    bool has_durations = line->hits != 0; /* else what was timed belongs to a hit elsewhere */
    struct rec_line rec = {
        .code = code->id,
        .line = (uint32_t)code->first_line + index,
        .hits = line->hits,
        .raw_hits = line->raw_hits,
        .inclusive_ns = duration_ns(line->inclusive, scale_ns),
        .exclusive_ns = duration_ns(line->exclusive, scale_ns),
        .await_ns = duration_ns(line->await, scale_ns),
        .min_ns = has_durations ? (uint64_t)duration_ns(line->min, scale_ns) : 0,
        .max_ns = has_durations ? (uint64_t)duration_ns(line->max, scale_ns) : 0,
        .histogram = histogram,
        .histogram_bytes =
            has_durations ? (uint32_t)(put_histogram(line, histogram).p - histogram) : 0,
        .samples = line->samples,
        .exclusive_error_ns = error_ns(line->exclusive_error, scale_ns),
        .inclusive_error_ns = error_ns(line->inclusive_error, scale_ns),
    };
    record_put_line(record_begin(result, BLOCK_LINES, rec.histogram_bytes), &rec);
}

/* A line can have time and no event: a generator that was profiled while suspended. */
static bool line_has_run(const struct line_total *line)
{
    return line->hits != 0 || line->raw_hits != 0 || line->inclusive != 0 || line->await != 0 ||
           line->samples != 0;
}

/*
 * A time without callees is part of that with them, and a line's or a call's of its function's.
 * They are measured each by itself, so short ones can be the other way round by their errors.
 */
static void order_code_times(struct code_total *total)
{
    for (uint32_t i = 0; i < total->code->n_lines; i++) {
        struct line_total *line = &total->lines[i];
        if (line->inclusive < line->exclusive)
            line->inclusive = line->exclusive;
        if (total->inclusive < line->inclusive)
            total->inclusive = line->inclusive;
    }
    if (total->inclusive < total->exclusive)
        total->inclusive = total->exclusive;
}

static int64_t smaller(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static void order_times(struct account_totals *totals)
{
    for (uint32_t i = 0; i < totals->n_codes; i++)
        order_code_times(&totals->codes[i]);
    for (uint32_t i = 0; i < totals->n_edges; i++) {
        struct call_total *edge = &totals->edges[i];
        const struct code_total *callee;
        if (edge->callee == 0)
            continue;
        callee = &totals->codes[edge->callee - 1];
        edge->inclusive = smaller(edge->inclusive, callee->inclusive);
        edge->exclusive = smaller(edge->exclusive, smaller(callee->exclusive, edge->inclusive));
    }
}

static void put_code_lines(struct result *result, const struct code_total *total, double scale_ns)
{
    const struct lines_code *code = total->code;
    struct rec_function function = {
        .code = code->id,
        .source = code->source,
        .regime = code->regime,
        .calls = total->calls,
        .inclusive_ns = duration_ns(total->inclusive, scale_ns),
        .exclusive_ns = duration_ns(total->exclusive, scale_ns),
        .reason = code->reason,
        .samples = total->samples,
        .discarded = total->discarded,
        .yields = total->yields,
        .exclusive_error_ns = error_ns(total->exclusive_error, scale_ns),
        .inclusive_error_ns = error_ns(total->inclusive_error, scale_ns),
    };
    record_put_function(record_begin(result, BLOCK_LINES, 0), &function);
    for (uint32_t i = 0; i < code->n_lines; i++)
        if (line_has_run(&total->lines[i]))
            put_line(result, code, i, &total->lines[i], scale_ns);
}

/* Calls of functions that are not wanted are no calls, and those that they make nobody's. */
static void put_edges(struct result *result, const struct account_totals *totals,
                      const uint8_t *wanted, double scale_ns)
{
    for (uint32_t i = 0; i < totals->n_edges; i++) {
        const struct call_total *edge = &totals->edges[i];
        bool is_known = wanted == NULL || wanted[edge->caller];
        struct rec_call rec = {
            .caller = is_known ? edge->caller : 0,
            .line = is_known ? edge->line : 0,
            .callee = edge->callee,
            .calls = edge->calls,
            .inclusive_ns = duration_ns(edge->inclusive, scale_ns),
            .exclusive_ns = duration_ns(edge->exclusive, scale_ns),
        };
        if (edge->callee != 0 && (wanted == NULL || wanted[edge->callee]))
            record_put_call(record_begin(result, BLOCK_LINES, 0), &rec);
    }
}

static void put_file_header(struct result *result, const struct result_settings *settings)
{
    uint8_t bytes[FILE_HEADER_BYTES];
    struct file_header header = {
        .min_reader = FORMAT_MIN_READER,
        .content = FILE_HAS_LINES,
        .options = settings->options,
        .start_wall_ns = settings->start_wall_ns,
        .start_mono_ns = settings->start.mono_ns,
        .pid = settings->pid,
        .ppid = settings->ppid,
        .python_hexversion = settings->python_hexversion,
    };
    memcpy(header.session_id, settings->session_id, sizeof header.session_id);
    file_header_put(bytes, &header);
    write_all(result, bytes, sizeof bytes);
}

static void put_totals(struct result *result, const struct result_settings *settings,
                       struct account_totals *totals, const uint8_t *wanted,
                       const struct tick_anchor *end, uint8_t end_reason)
{
    double scale_ns = ticks_scale_ns(&settings->start, end);
    put_file_header(result, settings);
    put_dictionary(result, totals);
    order_times(totals);
    for (uint32_t i = 0; i < totals->n_codes; i++)
        if (wanted == NULL || wanted[totals->codes[i].code->id])
            put_code_lines(result, &totals->codes[i], scale_ns);
    put_edges(result, totals, wanted, scale_ns);
    record_put_end(record_begin(result, BLOCK_END, 0),
                   &(struct rec_end){.reason = end_reason, .mono_ns = end->mono_ns});
    block_close(result);
}

static void put_everything(struct result *result, const struct result_settings *settings,
                           uint8_t end_reason)
{
    struct account_totals totals;
    struct tick_anchor end = ticks_anchor();
    if (account_sum(&totals, end.ticks) < 0) {
        result->error = ENOMEM;
        return;
    }
    put_totals(result, settings, &totals, NULL, &end, end_reason);
    account_totals_release(&totals);
}

int result_write_totals(const struct result_settings *settings, struct account_totals *totals,
                        const uint8_t *wanted)
{
    struct result result = {
        .fd = open(settings->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    struct tick_anchor end = ticks_anchor();
    if (result.fd < 0)
        return errno;
    result.workspace = pages_alloc(block_workspace_bytes());
    if (result.workspace == NULL)
        result.error = ENOMEM;
    else
        put_totals(&result, settings, totals, wanted, &end, END_CLEAN);
    if (close(result.fd) < 0 && result.error == 0)
        result.error = errno;
    pages_free(result.workspace, block_workspace_bytes());
    pages_free(result.buffer, result.buffer_bytes);
    pages_free(result.packed, result.packed_bytes);
    return result.error;
}

/* A device or a pipe is written to; a file put in its place would take it away from everybody. */
static bool is_stream(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* What the processes that were followed have left; only the last result takes it away. */
static void put_parts(struct result *result, struct result_settings *settings, uint8_t end_reason)
{
    settings->n_parts = 0;
    if (settings->parts == NULL || result->error != 0)
        return;
    result->error = end_reason == END_SAVED
                        ? parts_copy(settings->parts, result->fd, &settings->n_parts)
                        : parts_take(settings->parts, result->fd, &settings->n_parts);
}

int result_write(struct result_settings *settings, uint8_t end_reason)
{
    struct result result = {.fd = -1};
    bool to_stream = is_stream(settings->path);
    result.workspace = pages_alloc(block_workspace_bytes());
    if (result.workspace == NULL)
        return ENOMEM;
    if (to_stream && end_reason == END_SAVED)
        goto done; /* it can be written only once */
    result.fd = to_stream
                    ? open(settings->path, O_WRONLY | O_CLOEXEC)
                    : open(settings->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (result.fd < 0) {
        result.error = errno;
        goto done;
    }
    put_everything(&result, settings, end_reason);
    put_parts(&result, settings, end_reason);
    if (close(result.fd) < 0 && result.error == 0)
        result.error = errno;
    if (!to_stream && result.error == 0 && rename(settings->temporary, settings->path) < 0)
        result.error = errno;
    if (!to_stream && result.error != 0)
        unlink(settings->temporary);
    if (settings->parts != NULL && end_reason != END_SAVED && result.error == 0)
        parts_drop(settings->parts, to_stream ? NULL : settings->path);
done:
    pages_free(result.workspace, block_workspace_bytes());
    pages_free(result.buffer, result.buffer_bytes);
    pages_free(result.packed, result.packed_bytes);
    return result.error;
}
