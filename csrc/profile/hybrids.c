/* hybrids.c - see hybrids.h. */
#include "profile/hybrids.h"

#include "profile/machinery.h"

#include <stdio.h>

enum place_kind {
    PLACE_SHOWN,
    PLACE_HIDDEN,
    PLACE_LOOP, /* Python frames take its place */
};

void hybrids_release(struct hybrids *hybrids)
{
    symbolizer_close(hybrids->symbolizer);
    for (size_t i = 0; i < hybrids->texts.n; i++)
        free(hybrids->texts.items[i]);
    vec_release(&hybrids->texts);
    vec_release(&hybrids->places);
    vec_release(&hybrids->place_frames);
    vec_release(&hybrids->verdicts);
    for (size_t i = 0; i < 3; i++)
        vec_release(&hybrids->scratch[i]);
    table_release(&hybrids->place_ids);
}

/* ---- one address -------------------------------------------------------------------------- */

/* What a place is made from. */
struct looked_up {
    const struct rec_module *module;              /* NULL = in none */
    const char *path;                             /* of the module, NUL-terminated; "" = none */
    struct symbol_text frames[SYMBOL_MAX_FRAMES]; /* innermost first */
    unsigned n;
};

/* A NUL-terminated copy of a text of the log, kept until the end. NULL without memory. */
static const char *kept_text(struct hybrids *hybrids, const struct dictionary *dict, uint32_t id)
{
    const struct text *text = id < dict->strings.n ? &dict->strings.items[id] : NULL;
    char **slot = vec_add(&hybrids->texts);
    if (slot == NULL)
        return NULL;
    *slot = strndup(text == NULL || text->bytes == NULL ? "" : text->bytes,
                    text == NULL ? 0 : text->n_bytes);
    return *slot;
}

/* What `memtrace symbolize` has stored. -1 without memory. */
static int take_stored(struct hybrids *hybrids, const struct dictionary *dict,
                       const struct symbol *symbol, struct looked_up *found)
{
    for (uint32_t i = 0; i < symbol->n_frames && i < SYMBOL_MAX_FRAMES; i++) {
        const struct rec_symbol_frame *frame = &dict->symbol_frames.items[symbol->first_frame + i];
        found->frames[i] = (struct symbol_text){
            .name = frame->name == 0 ? NULL : kept_text(hybrids, dict, frame->name),
            .file = frame->file == 0 ? NULL : kept_text(hybrids, dict, frame->file),
            .line = frame->line,
        };
        if ((frame->name != 0 && found->frames[i].name == NULL) ||
            (frame->file != 0 && found->frames[i].file == NULL))
            return -1;
        found->n++;
    }
    return 0;
}

static int ask_files(struct hybrids *hybrids, uint64_t address, struct looked_up *found)
{
    const struct rec_module *module = found->module;
    if (hybrids->symbolizer == NULL && (hybrids->symbolizer = symbolizer_open()) == NULL)
        return -1;
    if (vec_reserve(&hybrids->verdicts, module->id + 1ul) != 0)
        return -1;
    if (hybrids->verdicts.n <= module->id)
        hybrids->verdicts.n = module->id + 1ul;
    hybrids->verdicts.items[module->id] =
        (uint8_t)(symbolizer_module(hybrids->symbolizer, module, found->path) + 1);
    found->n = symbolizer_find(hybrids->symbolizer, module, address, found->frames);
    return 0;
}

static int look_up(struct hybrids *hybrids, const struct dictionary *dict,
                   const struct rec_native_node *node, struct looked_up *found)
{
    const uint64_t address = native_lookup_address(node);
    const struct symbol *stored;
    *found = (struct looked_up){.path = ""};
    if (node->flags & NATIVE_SIGNAL) {
        found->frames[0] = (struct symbol_text){.name = "<signal handler>"};
        found->n = 1;
        return 0;
    }
    if (node->module == 0 || node->module >= dict->modules.n ||
        dict->modules.items[node->module].id == 0) {
        found->frames[0] = (struct symbol_text){.name = "<code made at run time>"};
        found->n = 1;
        return 0;
    }
    found->module = &dict->modules.items[node->module];
    found->path = kept_text(hybrids, dict, found->module->path);
    if (found->path == NULL)
        return -1;
    stored = dictionary_symbol(dict, node->module, address);
    return stored != NULL ? take_stored(hybrids, dict, stored, found)
                          : ask_files(hybrids, address, found);
}

/* "libm.so.6+0x1234" for what has no name. */
static const char *offset_name(struct hybrids *hybrids, const struct looked_up *found,
                               uint64_t address)
{
    const char *slash = strrchr(found->path, '/');
    const char *base = slash == NULL ? found->path : slash + 1;
    size_t n_bytes = strlen(base) + 32;
    char **slot = vec_add(&hybrids->texts);
    if (slot == NULL || (*slot = malloc(n_bytes)) == NULL)
        return NULL;
    snprintf(*slot, n_bytes, "%s+0x%llx", base, (unsigned long long)address);
    return *slot;
}

static bool is_interpreters(const struct looked_up *found)
{
    return found->module != NULL && (found->module->flags & MODULE_IS_INTERPRETER);
}

/* Adds a frame of a place. -1 without memory. */
static int add_place_frame(struct hybrids *hybrids, struct stacks *stacks,
                           const struct looked_up *found, const struct symbol_text *symbol)
{
    const char *file = symbol->file != NULL ? symbol->file : found->path;
    const struct text name_text = {symbol->name, (uint32_t)strlen(symbol->name)};
    const struct text file_text = {file, (uint32_t)strlen(file)};
    uint32_t name_row, file_row;
    uint32_t *slot = vec_add(&hybrids->place_frames);
    return slot == NULL || stacks_add_string(stacks, &name_text, &name_row) != 0 ||
                   stacks_add_string(stacks, &file_text, &file_row) != 0
               ? -1
               : stacks_add_native(stacks, name_row, file_row, symbol->line, slot);
}

static uint8_t kind_of(const struct rec_native_node *node, const struct looked_up *found)
{
    const struct symbol_text *outermost = found->n == 0 ? NULL : &found->frames[found->n - 1];
    const char *name = outermost == NULL ? NULL : outermost->name;
    if (node->flags & NATIVE_EVAL ||
        (is_interpreters(found) && name != NULL && machinery_is_loop(name)))
        return PLACE_LOOP;
    if (is_interpreters(found) && (name == NULL || machinery_is_hidden(name)))
        return PLACE_HIDDEN;
    return PLACE_SHOWN;
}

static int make_place(struct hybrids *hybrids, struct stacks *stacks, const struct dictionary *dict,
                      const struct rec_native_node *node, struct native_place *place)
{
    struct looked_up found;
    if (look_up(hybrids, dict, node, &found) != 0)
        return -1;
    *place = (struct native_place){
        .first = (uint32_t)hybrids->place_frames.n,
        .kind = kind_of(node, &found),
        .starts_programs = found.module != NULL &&
                           (machinery_is_c_library(found.path) || machinery_is_python(found.path)),
        .is_interpreters = is_interpreters(&found),
    };
    if (place->kind != PLACE_SHOWN)
        return 0;
    if (found.n == 0 || found.frames[found.n - 1].name == NULL) {
        if (found.n == 0)
            found.frames[found.n++] = (struct symbol_text){0};
        found.frames[found.n - 1].name = offset_name(hybrids, &found, native_lookup_address(node));
        if (found.frames[found.n - 1].name == NULL)
            return -1;
    }
    for (unsigned i = found.n; i-- > 0;) {
        /* Inlined: getting memory says nothing here either. */
        if (found.frames[i].name == NULL ||
            (is_interpreters(&found) && machinery_is_hidden(found.frames[i].name)))
            continue;
        if (add_place_frame(hybrids, stacks, &found, &found.frames[i]) != 0)
            return -1;
        place->n++;
    }
    return 0;
}

/* The place of a node, made once; UINT32_MAX without memory. */
static uint32_t place_of(struct hybrids *hybrids, struct stacks *stacks,
                         const struct dictionary *dict, const struct rec_native_node *node)
{
    uint64_t key = hash_u64(node->address ^ hash_u64((uint64_t)node->module << 8 | node->flags));
    uint32_t known = table_get(&hybrids->place_ids, key);
    struct native_place place, *added;
    if (known != 0)
        return known - 1;
    if (make_place(hybrids, stacks, dict, node, &place) != 0)
        return UINT32_MAX;
    added = vec_add(&hybrids->places);
    if (added == NULL || table_put(&hybrids->place_ids, key, (uint32_t)hybrids->places.n) != 0)
        return UINT32_MAX;
    *added = place;
    return (uint32_t)hybrids->places.n - 1;
}

/* ---- one stack ---------------------------------------------------------------------------- */

#define places_of_stack(hybrids) (&(hybrids)->scratch[0])
#define nodes_of_stack(hybrids) (&(hybrids)->scratch[1])
#define frames_of_stack(hybrids) (&(hybrids)->scratch[2])

/* All lists of one stack are innermost first. -1 without memory. */
static int collect(struct hybrids *hybrids, struct stacks *stacks, const struct dictionary *dict,
                   const struct rec_hybrid *hybrid, bool show_native)
{
    uint32_t *slot;
    for (size_t i = 0; i < 3; i++)
        hybrids->scratch[i].n = 0;
    for (uint32_t id = hybrid->python; id != 0 && id < dict->nodes.n;
         id = dict->nodes.items[id].parent) {
        if ((slot = vec_add(nodes_of_stack(hybrids))) == NULL)
            return -1;
        *slot = id;
    }
    for (uint32_t id = show_native ? hybrid->native : 0; id != 0 && id < dict->native_nodes.n;
         id = dict->native_nodes.items[id].parent) {
        const struct rec_native_node *node = &dict->native_nodes.items[id];
        if (node->id == 0)
            break;
        if ((slot = vec_add(places_of_stack(hybrids))) == NULL ||
            (*slot = place_of(hybrids, stacks, dict, node)) == UINT32_MAX)
            return -1;
    }
    return 0;
}

static bool is_bare(const struct rec_hybrid *hybrid, uint32_t run)
{
    for (uint32_t i = 0; i < hybrid->n_bare; i++) {
        if (hybrid->bare[i] == run)
            return true;
    }
    return false;
}

/* Adds the frames of the next run of the loop: up to the one that C code called. */
static int add_python(struct hybrids *hybrids, const struct stacks *stacks,
                      const struct dictionary *dict, size_t *at)
{
    while (*at < nodes_of_stack(hybrids)->n) {
        uint32_t node = nodes_of_stack(hybrids)->items[(*at)++];
        uint32_t frame = stacks->node_frames.items[node];
        if (frame != 0) {
            uint32_t *slot = vec_add(frames_of_stack(hybrids));
            if (slot == NULL)
                return -1;
            *slot = frame - 1;
        }
        if (dict->nodes.items[node].entry)
            break;
    }
    return 0;
}

static int add_native(struct hybrids *hybrids, const struct native_place *place)
{
    for (uint32_t i = place->n; i-- > 0;) {
        uint32_t *slot = vec_add(frames_of_stack(hybrids));
        if (slot == NULL)
            return -1;
        *slot = hybrids->place_frames.items[place->first + i];
    }
    return 0;
}

/*
 * How many of the places are looked at: not those where every program or thread begins. As long as
 * no Python has run, what the interpreter does is all there is to see.
 */
static size_t without_base(const struct hybrids *hybrids)
{
    const struct native_place *places = hybrids->places.items;
    const uint32_t *stack = hybrids->scratch[0].items;
    size_t n = hybrids->scratch[0].n;
    bool has_loop = false;
    for (size_t i = 0; i < n; i++)
        has_loop = has_loop || places[stack[i]].kind == PLACE_LOOP;
    while (n > 0 && places[stack[n - 1]].kind != PLACE_LOOP &&
           (places[stack[n - 1]].is_interpreters ? has_loop : places[stack[n - 1]].starts_programs))
        n--;
    return n;
}

static int merge(struct hybrids *hybrids, const struct stacks *stacks,
                 const struct dictionary *dict, const struct rec_hybrid *hybrid)
{
    size_t n = without_base(hybrids);
    size_t python_at = 0;
    uint32_t run = 0;
    for (size_t i = 0; i < n; i++) {
        const struct native_place *place =
            &hybrids->places.items[places_of_stack(hybrids)->items[i]];
        int failed = 0;
        if (place->kind == PLACE_LOOP) {
            if (!is_bare(hybrid, run++))
                failed = add_python(hybrids, stacks, dict, &python_at);
        } else {
            failed = add_native(hybrids, place);
        }
        if (failed)
            return -1;
    }
    /* The way out was lost somewhere: the rest of Python's frames is further out. */
    while (python_at < nodes_of_stack(hybrids)->n) {
        if (add_python(hybrids, stacks, dict, &python_at) != 0)
            return -1;
    }
    return 0;
}

int hybrids_build(struct hybrids *hybrids, struct stacks *stacks, const struct dictionary *dict,
                  bool show_native)
{
    if (vec_reserve(&stacks->node_rows, dict->hybrids.n) != 0)
        return -1;
    for (size_t id = 0; id < dict->hybrids.n; id++) {
        const struct rec_hybrid *hybrid = &dict->hybrids.items[id];
        uint32_t *row = vec_add(&stacks->node_rows);
        *row = 0;
        if (hybrid->id == 0)
            continue;
        if (collect(hybrids, stacks, dict, hybrid, show_native) != 0 ||
            merge(hybrids, stacks, dict, hybrid) != 0)
            return -1;
        for (size_t i = frames_of_stack(hybrids)->n; i-- > 0;) {
            if (stacks_add_row(stacks, *row, frames_of_stack(hybrids)->items[i], row) != 0)
                return -1;
        }
    }
    return 0;
}
