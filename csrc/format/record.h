/*
 * record.h - the schema of the log: one struct a record, put next to get, in the order of
 * docs/internals/log-format.md, which is the specification.
 *
 * Nothing here allocates, locks or calls anything but memcpy: the put side runs inside malloc.
 * A put that does not fit and a get that is cut or malformed latch `bad` in the put or get; the
 * output of a bad get must not be used. Texts are UTF-8 (lone surrogates as WTF-8) without a
 * terminating NUL, borrowed from the caller (put) or from the block's bytes (get).
 */
#ifndef PROFTRACE_FORMAT_RECORD_H
#define PROFTRACE_FORMAT_RECORD_H

#include "base/bytes.h"

#define FORMAT_VERSION 4
#define FORMAT_MIN_READER 2        /* of line results: version 2 would understand them */
#define FORMAT_MIN_READER_MEMORY 4 /* of events: their stacks have lines where others had units */

/* ---- file header ------------------------------------------------------------------------- */

#define FILE_HEADER_BYTES 128
#define FILE_MAGIC "\x89PTRC\r\n\x1a"
#define FILE_MAGIC_BYTES 8
#define SESSION_ID_BYTES 16

enum file_content { FILE_HAS_MEMORY = 1, FILE_HAS_LINES = 2 };

enum file_option {
    OPTION_NATIVE = 1, /* events name HYBRID records, not NODE */
    OPTION_PYTHON_ALLOCATORS = 2,
    OPTION_FREE_THREADED = 4,
    OPTION_NO_PYTHON_STACKS = 8, /* the interpreter's layout was not known */
    OPTION_AGGREGATE = 32,       /* sums by site; only the newest events are there */
    OPTION_LAST_EVENTS = 64,     /* sums by site, and the last events up to a size */
    OPTION_NO_MEMORY = 128,      /* some stacks or threads are not there: no memory for them */
    OPTION_NO_RING = 16,         /* the tail could not be kept safe against SIGKILL */
};

struct file_header {
    uint16_t version;    /* written by put as FORMAT_VERSION */
    uint16_t min_reader; /* the oldest reader version that may read this file */
    uint32_t content;    /* enum file_content, or-ed */
    uint32_t options;    /* enum file_option, or-ed */
    uint64_t start_wall_ns;
    uint64_t start_mono_ns;
    uint32_t pid;
    uint32_t ppid;
    uint32_t python_hexversion;
    uint8_t session_id[SESSION_ID_BYTES]; /* random: ties a ring file to its log */
    uint64_t sample_bytes; /* mean distance of recorded allocations in bytes; 0 = all are there */
};

enum header_verdict {
    HEADER_OK,
    HEADER_EMPTY,     /* no byte at all */
    HEADER_NOT_OURS,  /* other magic */
    HEADER_CUT,       /* our magic, fewer than FILE_HEADER_BYTES */
    HEADER_TOO_NEW,   /* min_reader > FORMAT_VERSION */
    HEADER_BYTEORDER, /* written on a machine of the other byte order */
    HEADER_CORRUPT,   /* checksum or size wrong */
};

void file_header_put(uint8_t out[FILE_HEADER_BYTES], const struct file_header *header);
NODISCARD enum header_verdict file_header_get(const uint8_t *bytes, size_t n_bytes,
                                              struct file_header *header);

/* ---- table records: DICT and LINES blocks -------------------------------------------------
 *
 *   u8 tag | u32 payload bytes | payload
 *
 * A reader skips a tag it does not know and ignores payload bytes behind the fields it knows.
 */

#define TABLE_RECORD_HEAD_BYTES 5

enum table_tag {
    TABLE_STRING = 1,
    TABLE_CODE = 2,
    TABLE_NODE = 3,
    TABLE_THREAD = 4,
    TABLE_META = 5,
    TABLE_SOURCE = 6,
    TABLE_NATIVE_NODE = 7, /* 7 to 10: record_native.h */
    TABLE_MODULE = 8,
    TABLE_HYBRID = 9,
    TABLE_SYMBOL = 10,
    TABLE_NODES = 11, /* nodes.h */
    TABLE_LINE_NODE = 12,
    TABLE_LINE_NODES = 13, /* nodes.h */
    /* 14 and 15 are kept for types */
    TABLE_FUNCTION = 16,
    TABLE_LINE = 17,
    TABLE_CALL = 18,
};

/* Id 0 is the empty string and is never written. Ids of every table count up from 1. */
struct rec_string {
    uint32_t id;
    const char *text;
    uint32_t n_bytes;
};

struct rec_code {
    uint32_t id;
    uint32_t name; /* string ids */
    uint32_t qualname;
    uint32_t file;
    uint32_t first_line;
    uint32_t flags;           /* co_flags */
    const uint8_t *linetable; /* co_linetable; empty when lines are given directly */
    uint32_t linetable_bytes;
};

/* A Python stack: its innermost frame and the node of the rest. Node 0 = no Python frame. */
struct rec_node {
    uint32_t id;
    uint32_t parent;
    uint32_t code;
    uint32_t unit; /* index of the running instruction, in 2-byte code units from co_code */
    uint8_t entry; /* 1: C code called the interpreter to run this frame */
    /*
     * True: a LINE_NODE. Then it is `line` that is in the record, and the code needs no linetable:
     * 0 = none, else 1 + zigzag(line - the code's first line).
     */
    bool by_line;
    uint32_t line;
};

/* May come again for the same index: the last name counts. */
struct rec_thread {
    uint32_t index; /* the stream of its EVENTS blocks; never reused */
    uint64_t tid;   /* kernel thread id */
    uint32_t name;  /* string id, 0 = not known */
    uint64_t start_mono_ns;
};

struct rec_meta {
    const char *key;
    uint32_t key_bytes;
    const char *value;
    uint32_t value_bytes;
};

/* The text of a source file as it was when its code was registered, whole. */
struct rec_source {
    uint32_t id;
    uint32_t file; /* string id */
    const char *text;
    uint32_t n_bytes;
};

enum line_regime { REGIME_COLD = 0, REGIME_HOT = 1 };

/* Why a code object that ran often enough was not counted by blocks and timed by samples. */
enum cold_reason {
    COLD_UNASKED = 0, /* nothing to explain: hot, or not run often enough */
    COLD_CLOCK = 1,   /* the user wants every event timed by the clock */
    COLD_SAMPLER = 2, /* no way to take samples here */
    COLD_LAYOUT = 3,  /* the interpreter's memory layout is not known */
    COLD_THREADS = 4, /* the interpreter runs threads without a GIL */
    COLD_TOOL = 5,    /* another tool listens to events */
    COLD_TRACE = 6,   /* a trace function is set */
    COLD_CODE = 7,    /* its blocks were not understood */
    COLD_MEMORY = 8,  /* memory was out */
    COLD_JIT = 9,     /* the interpreter compiles to machine code */
    COLD_STACKS = 10, /* greenlets: frames that stand where no thread's chain shows them */
    COLD_SLOW = 11,   /* its lines take so long that the clock is the better one */
};

/*
 * Totals of one code object over all threads. Times in ns; an error is one standard deviation of
 * the time it goes with. What old writers did not have is read as 0.
 */
struct rec_function {
    uint32_t code;
    uint32_t source; /* source id, 0 = the text was not to be had */
    uint8_t regime;  /* enum line_regime: the last one */
    uint64_t calls;  /* how often it began */
    int64_t inclusive_ns;
    int64_t exclusive_ns;
    uint8_t reason;     /* enum cold_reason */
    uint64_t samples;   /* that found it running */
    uint64_t discarded; /* samples of our own instrumentation at work for it */
    uint64_t yields;    /* how often it was suspended, if it was timed by the clock */
    uint64_t exclusive_error_ns;
    uint64_t inclusive_error_ns;
};

/*
 * One line of one code object over all threads. A line that never ran has no record.
 *
 * min, max and histogram are of single hits, callees included and suspended time excluded, as far
 * as they were timed by the clock: bucket k counts those of [2^k, 2^(k+1)) ns, bucket 0 those below
 * 2 ns, the last one everything above.
 */
struct rec_line {
    uint32_t code;
    uint32_t line;
    uint64_t hits;     /* how often a statement that starts here began */
    uint64_t raw_hits; /* LINE deliveries */
    int64_t inclusive_ns;
    int64_t exclusive_ns;
    int64_t await_ns; /* suspended time, added up over frames that waited at the same time */
    uint64_t min_ns;  /* 0 when no hit was timed */
    uint64_t max_ns;
    const uint8_t *histogram; /* a varint a bucket; get it with record_get_buckets */
    uint32_t histogram_bytes;
    uint64_t samples;
    uint64_t exclusive_error_ns;
    uint64_t inclusive_error_ns;
};

#define LINE_BUCKETS_MAX 64 /* a reader adds up in the last one what goes beyond */

/*
 * The calls of one profiled code object from one line of another. The inclusive time of calls
 * inside calls of the same kind counts once; the exclusive one is the callee's.
 */
struct rec_call {
    uint32_t caller; /* code id; 0 = from code that is not profiled */
    uint32_t line;   /* of the caller; 0 then */
    uint32_t callee;
    uint64_t calls; /* as far as they were seen one by one */
    int64_t inclusive_ns;
    int64_t exclusive_ns;
};

void record_put_string(struct put *to, const struct rec_string *rec);
void record_put_code(struct put *to, const struct rec_code *rec);
void record_put_node(struct put *to, const struct rec_node *rec);
void record_put_thread(struct put *to, const struct rec_thread *rec);
void record_put_meta(struct put *to, const struct rec_meta *rec);
void record_put_source(struct put *to, const struct rec_source *rec);
void record_put_function(struct put *to, const struct rec_function *rec);
void record_put_line(struct put *to, const struct rec_line *rec);
void record_put_call(struct put *to, const struct rec_call *rec);

/* Takes one record's head; returns its tag and a get over just its payload. 0 at the end. */
NODISCARD uint8_t table_next(struct get *from, struct get *payload);

void record_get_string(struct get *payload, struct rec_string *rec);
void record_get_code(struct get *payload, struct rec_code *rec);
void record_get_node(struct get *payload, struct rec_node *rec);
/* The same of a LINE_NODE. */
void record_get_line_node(struct get *payload, struct rec_node *rec);
void record_get_thread(struct get *payload, struct rec_thread *rec);
void record_get_meta(struct get *payload, struct rec_meta *rec);
void record_get_source(struct get *payload, struct rec_source *rec);
void record_get_function(struct get *payload, struct rec_function *rec);
void record_get_line(struct get *payload, struct rec_line *rec);
void record_get_call(struct get *payload, struct rec_call *rec);
/* Returns how many buckets there are; the rest of them is set to 0. */
unsigned record_get_buckets(const struct rec_line *rec, uint64_t buckets[LINE_BUCKETS_MAX]);

/* ---- events ------------------------------------------------------------------------------- */

/* Allocator kinds carry memray's numbers, so that exports name them alike. */
enum event_kind {
    EVENT_MALLOC = 1,
    EVENT_FREE = 2,
    EVENT_CALLOC = 3,
    EVENT_REALLOC = 4, /* also reallocarray */
    EVENT_POSIX_MEMALIGN = 5,
    EVENT_ALIGNED_ALLOC = 6,
    EVENT_MEMALIGN = 7,
    EVENT_VALLOC = 8,
    EVENT_PVALLOC = 9,
    EVENT_MMAP = 10, /* also the new range of an mremap */
    EVENT_MUNMAP = 11,
    EVENT_PYMALLOC_MALLOC = 12,
    EVENT_PYMALLOC_CALLOC = 13,
    EVENT_PYMALLOC_REALLOC = 14,
    EVENT_PYMALLOC_FREE = 15,
    EVENT_UNFREE = 16, /* the thread's last FREE did not happen: a failed realloc */
    EVENT_ARENA = 17,  /* an mmap by pymalloc, which puts small objects there */
    EVENT_MARK = 31,
};

enum mark_kind {
    MARK_END_OF_SCRIPT = 1, /* leaks are what is live here */
    MARK_LOST = 2,          /* value = how many events could not be recorded */
    MARK_USER = 3,          /* value = a string id */
    /* The size of the process: the fields that changed, then TAKEN. */
    MARK_USAGE_TAKEN = 4,  /* value = us since the start of the log */
    MARK_USAGE_DURING = 5, /* value = an address: the next TAKEN is of before its release */
    MARK_USAGE_FIRST = 16, /* + enum usage_field; value = bytes, or a number */
};

enum usage_field {
    USAGE_ANONYMOUS, /* in memory, by what stands behind it */
    USAGE_FILE,
    USAGE_SHARED,
    USAGE_HEAP, /* that malloc has taken from the system; not written if it does not tell */
    USAGE_HEAP_FREE,
    USAGE_ARENAS, /* number of pymalloc's arenas; not written if its tables are not known */
    USAGE_ARENA_TOUCHED,
    USAGE_ARENA_USED,
    USAGE_OWN_ANONYMOUS, /* the profiler's own, of the first and third */
    USAGE_OWN_SHARED,
    USAGE_FIELDS,
};

/* Which of Python's allocators a pymalloc event went to. */
enum event_domain { DOMAIN_NONE = 0, DOMAIN_RAW = 1, DOMAIN_MEM = 2, DOMAIN_OBJ = 3 };

static inline bool event_is_allocation(uint8_t kind)
{
    return (kind >= EVENT_MALLOC && kind <= EVENT_PYMALLOC_REALLOC && kind != EVENT_FREE &&
            kind != EVENT_MUNMAP) ||
           kind == EVENT_ARENA;
}

static inline bool event_has_size(uint8_t kind)
{
    return event_is_allocation(kind) || kind == EVENT_MUNMAP || kind == EVENT_MARK;
}

static inline bool event_kind_is_known(uint8_t kind)
{
    return (kind >= EVENT_MALLOC && kind <= EVENT_ARENA) || kind == EVENT_MARK;
}

/*
 * One event. `seq` orders the events of different threads: 0 until the process has a second
 * thread, then from one shared counter that starts at 1; 0 after that stands for the stream's last
 * one. Within a stream the order is that of the stream, and seq never falls.
 */
struct event {
    uint8_t kind;     /* enum event_kind */
    uint32_t node;    /* allocations: the stack; NODE, or HYBRID with OPTION_NATIVE */
    uint64_t address; /* allocations, frees and munmap; UNFREE; marks: enum mark_kind */
    uint64_t size;    /* allocations: requested bytes; munmap: length; marks: value */
    uint64_t seq;
    uint8_t domain; /* pymalloc allocations: enum event_domain */
};

/*
 * Raw form, in the per-thread buffer and so in the ring file: 1 to 4 words of 64 bits.
 *
 *   word 0   63            16 15      8 7      0
 *            | address:48    | how:8   | flags:8 |    flags: 1 = seq follows, 2 = size64 follows
 *   how      | 0 | domain:2 | kind:5 |
 *   word 1   allocations only: node:32 (high) | size:32 (low, 0 when size64 follows)
 *   word s   size64: munmap and marks always carry it
 *   word q   seq
 */
#define RAW_EVENT_MAX_WORDS 4
#define RAW_FLAG_SEQ 1
#define RAW_FLAG_SIZE64 2
#define RAW_KIND_MASK 0x1f
#define RAW_DOMAIN_SHIFT 5
#define RAW_HOW_MASK 0x7f

/* Kind and domain in a byte. */
static inline uint8_t event_how(const struct event *event)
{
    return (uint8_t)(event->kind | event->domain << RAW_DOMAIN_SHIFT);
}

static inline unsigned raw_event_put(uint64_t *words, const struct event *event)
{
    bool allocation = event_is_allocation(event->kind);
    bool wide = allocation ? event->size > UINT32_MAX
                           : event->kind == EVENT_MUNMAP || event->kind == EVENT_MARK;
    unsigned n = 1;
    words[0] = event->address << 16 | (uint64_t)event_how(event) << 8 |
               (wide ? RAW_FLAG_SIZE64 : 0) | (event->seq != 0 ? RAW_FLAG_SEQ : 0);
    if (allocation)
        words[n++] = (uint64_t)event->node << 32 | (wide ? 0 : (uint32_t)event->size);
    if (wide)
        words[n++] = event->size;
    if (event->seq != 0)
        words[n++] = event->seq;
    return n;
}

/* Returns the words taken, 0 when fewer than a whole event is left or the kind is unknown. */
NODISCARD static inline unsigned raw_event_get(const uint64_t *words, size_t n_words,
                                               struct event *event)
{
    unsigned n = 1;
    unsigned flags;
    if (n_words == 0)
        return 0;
    flags = words[0] & 0xff;
    *event = (struct event){.kind = words[0] >> 8 & RAW_KIND_MASK,
                            .domain = words[0] >> (8 + RAW_DOMAIN_SHIFT) & 3,
                            .address = words[0] >> 16};
    if (!event_kind_is_known(event->kind) || (words[0] & 0x8000) ||
        flags > (RAW_FLAG_SEQ | RAW_FLAG_SIZE64))
        return 0;
    if (event_is_allocation(event->kind)) {
        if (n_words < 2)
            return 0;
        event->node = (uint32_t)(words[n] >> 32);
        event->size = (uint32_t)words[n];
        n++;
    }
    if (flags & RAW_FLAG_SIZE64) {
        if (n_words <= n)
            return 0;
        event->size = words[n++];
    }
    if (flags & RAW_FLAG_SEQ) {
        if (n_words <= n)
            return 0;
        event->seq = words[n++];
    }
    return n;
}

/*
 * Stored form, in an EVENTS block: what version 1 wrote (see pack.h for later ones). All of it is
 * relative to the event before it in the block, so that blocks decode alone: start both sides from
 * EVENT_CODER_START.
 */
struct event_coder {
    uint64_t address; /* of the event before, rotated right by four bits */
    uint64_t seq;
    uint32_t node;
};

#define EVENT_CODER_START(first_seq_) ((struct event_coder){0, (first_seq_), 0})
#define EVENT_MAX_STORED_BYTES (1 + 4 * VARINT_MAX_BYTES)

void event_put(struct put *to, struct event_coder *coder, const struct event *event);
/* Returns false at the end and on malformed bytes (then from->bad is set). */
NODISCARD bool event_get(struct get *from, struct event_coder *coder, struct event *event);

/* ---- END block ---------------------------------------------------------------------------- */

enum end_reason {
    END_CLEAN = 0,        /* the process ended or tracking was stopped */
    END_WRITE_FAILED = 1, /* disk full or the like: what follows was not recorded */
    END_EXEC = 2,         /* the process image was replaced */
    END_SAVED = 3,        /* line results: the process went on; what it did later is missing */
};

struct rec_end {
    uint8_t reason;    /* enum end_reason */
    int32_t error;     /* errno of END_WRITE_FAILED */
    uint64_t n_events; /* in all EVENTS blocks */
    uint64_t n_lost;   /* events that could not be recorded */
    uint64_t mono_ns;
};

void record_put_end(struct put *to, const struct rec_end *rec);
void record_get_end(struct get *from, struct rec_end *rec);

#endif
