/* registry.c - see registry.h. */
#include "lines/registry.h"

#include "base/table.h" /* hash_u64 */
#include "lines/line_search.h"

#include <pthread.h>
#include <string.h>

#define FIRST_SLOTS 256
#define TEXT_BUCKETS 4096u

/* Open addressing; replaced as a whole when half full, the old one stays for those who read it. */
struct code_slots {
    uint32_t mask;
    struct lines_code *slots[];
};

struct registry lines_registry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below and the lists' tails */
static struct arena arena;
static struct code_slots *published;
static struct lines_text **last_text = &lines_registry.texts;
static struct lines_source **last_source = &lines_registry.sources;
static struct lines_meta **last_meta = &lines_registry.metas;
static struct lines_code **last_code = &lines_registry.codes;
static struct lines_text *text_buckets[TEXT_BUCKETS];
static uint32_t n_texts;
static uint32_t n_sources;

void registry_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}

static void *copy_unlocked(const void *bytes, size_t n_bytes)
{
    char *copy = arena_alloc(&arena, n_bytes + 1);
    if (copy != NULL && n_bytes != 0)
        memcpy(copy, bytes, n_bytes);
    return copy;
}

char *registry_copy(const char *bytes, size_t n_bytes)
{
    char *copy;
    pthread_mutex_lock(&lock);
    copy = copy_unlocked(bytes, n_bytes);
    pthread_mutex_unlock(&lock);
    return copy;
}

static struct lines_code *find_in(const struct code_slots *table, const void *key)
{
    struct lines_code *code;
    if (table == NULL)
        return NULL;
    for (uint32_t i = (uint32_t)hash_u64((uintptr_t)key) & table->mask;;
         i = (i + 1) & table->mask) {
        code = __atomic_load_n(&table->slots[i], __ATOMIC_ACQUIRE);
        if (code == NULL || code->key == key)
            return code;
    }
}

struct lines_code *registry_find(const void *key)
{
    return find_in(__atomic_load_n(&published, __ATOMIC_ACQUIRE), key);
}

static void insert_unlocked(struct code_slots *table, struct lines_code *code)
{
    uint32_t i = (uint32_t)hash_u64((uintptr_t)code->key) & table->mask;
    while (table->slots[i] != NULL)
        i = (i + 1) & table->mask;
    __atomic_store_n(&table->slots[i], code, __ATOMIC_RELEASE);
}

/* Makes sure that one more code fits. */
static int reserve_slot_unlocked(void)
{
    struct code_slots *old = published, *table;
    uint32_t n_slots = old == NULL ? FIRST_SLOTS : (old->mask + 1) * 2;
    if (old != NULL && (lines_registry.n_codes + 1) * 2 <= old->mask)
        return 0;
    table = arena_alloc(&arena, sizeof *table + n_slots * sizeof table->slots[0]);
    if (table == NULL)
        return -1;
    table->mask = n_slots - 1;
    for (struct lines_code *code = lines_registry.codes; code != NULL; code = code->next)
        insert_unlocked(table, code);
    __atomic_store_n(&published, table, __ATOMIC_RELEASE);
    return 0;
}

static uint64_t hash_text(const char *text, uint32_t n_bytes)
{
    uint64_t hash = n_bytes;
    for (uint32_t i = 0; i < n_bytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3ULL; /* FNV-1a */
    return hash;
}

/* Returns the id of a text, one for equal texts; 0 for the empty one and when memory is out. */
static uint32_t add_text_unlocked(const char *text, uint32_t n_bytes)
{
    uint64_t hash = hash_text(text, n_bytes);
    struct lines_text **bucket = &text_buckets[hash_u64(hash) % TEXT_BUCKETS];
    struct lines_text *entry;
    if (n_bytes == 0)
        return 0;
    for (entry = *bucket; entry != NULL; entry = entry->same_bucket)
        if (entry->hash == hash && entry->n_bytes == n_bytes &&
            memcmp(entry->text, text, n_bytes) == 0)
            return entry->id;
    entry = arena_alloc(&arena, sizeof *entry);
    if (entry == NULL || (entry->text = copy_unlocked(text, n_bytes)) == NULL)
        return 0;
    entry->n_bytes = n_bytes;
    entry->hash = hash;
    entry->id = ++n_texts;
    entry->same_bucket = *bucket;
    *bucket = entry;
    __atomic_store_n(last_text, entry, __ATOMIC_RELEASE);
    last_text = &entry->next;
    return entry->id;
}

uint32_t registry_add_source(const char *file, uint32_t file_bytes, const char *text,
                             uint32_t n_bytes)
{
    struct lines_source *source;
    uint32_t id = 0;
    if (n_bytes > SOURCE_MAX_BYTES)
        return 0;
    pthread_mutex_lock(&lock);
    source = arena_alloc(&arena, sizeof *source);
    if (source != NULL && (source->text = copy_unlocked(text, n_bytes)) != NULL) {
        source->n_bytes = n_bytes;
        source->file = add_text_unlocked(file, file_bytes);
        source->id = id = ++n_sources;
        __atomic_store_n(last_source, source, __ATOMIC_RELEASE);
        last_source = &source->next;
    }
    pthread_mutex_unlock(&lock);
    return id;
}

int registry_add_meta(const char *key, const char *value, uint32_t value_bytes)
{
    struct lines_meta *meta;
    int result = -1;
    pthread_mutex_lock(&lock);
    meta = arena_alloc(&arena, sizeof *meta);
    if (meta != NULL && (meta->key = copy_unlocked(key, strlen(key))) != NULL &&
        (meta->value = copy_unlocked(value, value_bytes)) != NULL) {
        meta->key_bytes = (uint32_t)strlen(key);
        meta->value_bytes = value_bytes;
        __atomic_store_n(last_meta, meta, __ATOMIC_RELEASE);
        last_meta = &meta->next;
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* Finds the range of lines that can have events; false when there is none or it is too wide. */
static bool find_line_range(const struct code_facts *facts, struct lines_code *code)
{
    int32_t first = INT32_MAX, last = 0;
    for (uint32_t i = 0; i < facts->n_units; i++) {
        int32_t line = facts->line_of_unit[i];
        if (line <= 0)
            continue;
        first = line < first ? line : first;
        last = line > last ? line : last;
    }
    if (last == 0 || last - first >= (int32_t)CODE_MAX_LINES)
        return false;
    code->first_line = first;
    code->n_lines = (uint32_t)(last - first) + 1;
    return true;
}

/* The costs of a line's events: those of the loop in it, else those of its first one. */
static uint8_t *find_probes_unlocked(const struct code_facts *facts, const struct lines_code *code)
{
    uint8_t *probes = arena_alloc(&arena, code->n_lines); /* zero is PROBE_LINE */
    if (probes == NULL)
        return NULL;
    for (uint32_t i = facts->probes == NULL ? 0 : facts->n_units; i-- > 0;) {
        uint8_t probe = facts->probes[i], *known;
        if (probe >= PROBE_KINDS || facts->line_of_unit[i] <= 0)
            continue;
        known = &probes[facts->line_of_unit[i] - code->first_line];
        if (*known != PROBE_LOOP && *known != PROBE_LOOP_LARGE)
            *known = probe;
    }
    return probes;
}

static int copy_analysis_unlocked(const struct code_facts *facts, struct lines_code *code)
{
    const struct hit_rules *rules = facts->rules;
    uint8_t *ambiguous = arena_alloc(&arena, code->n_lines);
    code->n_units = facts->n_units;
    code->line_of_unit =
        copy_unlocked(facts->line_of_unit, facts->n_units * sizeof *facts->line_of_unit);
    code->skip = copy_unlocked(rules->skip, (facts->n_units + 7) / 8);
    if (rules->repeat != NULL &&
        (code->repeat = copy_unlocked(rules->repeat, (facts->n_units + 7) / 8)) == NULL)
        return -1;
    code->ambiguous = ambiguous;
    code->probes = find_probes_unlocked(facts, code);
    if (facts->searches != NULL &&
        (code->search = line_search_make(&arena, code, facts->searches)) == NULL)
        return -1;
    code->n_credits = rules->n_credits;
    code->credits = copy_unlocked(rules->credits, rules->n_credits * sizeof *rules->credits);
    if (ambiguous == NULL || code->line_of_unit == NULL || code->skip == NULL ||
        code->credits == NULL || code->probes == NULL)
        return -1;
    for (uint32_t i = 0; i < facts->n_units; i++)
        if ((unit_is_marked(rules->skip, i) ||
             (code->repeat != NULL && unit_is_marked(code->repeat, i))) &&
            facts->line_of_unit[i] > 0)
            ambiguous[facts->line_of_unit[i] - code->first_line] = 1;
    for (uint32_t i = 0; i < rules->n_credits; i++)
        if (rules->credits[i].unit < facts->n_units)
            ambiguous[facts->line_of_unit[rules->credits[i].unit] - code->first_line] = 1;
    return 0;
}

static struct lines_code *add_code_unlocked(const struct code_facts *facts)
{
    struct lines_code *code = find_in(published, facts->key);
    if (code != NULL)
        return code;
    code = arena_alloc(&arena, sizeof *code);
    if (code == NULL || !find_line_range(facts, code) || copy_analysis_unlocked(facts, code) < 0 ||
        reserve_slot_unlocked() < 0)
        return NULL;
    code->key = facts->key;
    code->name = add_text_unlocked(facts->name, facts->name_bytes);
    code->qualname = add_text_unlocked(facts->qualname, facts->qualname_bytes);
    code->file = add_text_unlocked(facts->file, facts->file_bytes);
    code->source = facts->source;
    code->def_line = facts->def_line;
    code->flags = facts->flags;
    code->id = lines_registry.n_codes + 1;
    __atomic_store_n(last_code, code, __ATOMIC_RELEASE);
    last_code = &code->next;
    insert_unlocked(published, code);
    __atomic_store_n(&lines_registry.n_codes, code->id, __ATOMIC_RELEASE);
    return code;
}

struct lines_code *registry_add_code(const struct code_facts *facts)
{
    struct lines_code *code;
    pthread_mutex_lock(&lock);
    code = add_code_unlocked(facts);
    pthread_mutex_unlock(&lock);
    return code;
}
