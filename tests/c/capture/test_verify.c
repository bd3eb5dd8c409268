/* --verify-stacks has to see every kind of wrong stack: here the interpreter is made of this test's
 * own memory, laid out as 3.12 does, and nodes that were right are kept while it changes. */
#include "capture/verify.h"

#include "capture/notice.h"
#include "capture/state.h"

#include "check.h"

#include <fcntl.h>
#include <unistd.h>

#define SHIM 3

struct capture_state capture;

void signals_block(sigset_t *before)
{
    (void)before;
}

void signals_allow(const sigset_t *before)
{
    (void)before;
}

struct fake_text {
    uint64_t header[2], length, hash;
    uint32_t state, padding;
    char characters[24];
};

struct fake_bytes {
    uint64_t header[2], length, hash;
    char bytes[8];
};

struct fake_code {
    uint8_t memory[512];
};

struct fake_frame {
    uintptr_t code, previous;
    uint64_t between[5];
    uintptr_t ip;
    uint8_t rest[6], owner, last;
};

static struct fake_text names[3], file;
static struct fake_bytes linetable;
static struct fake_code codes[3];
static struct fake_frame frames[4];
static struct {
    uintptr_t current;
} cframe;
static struct {
    uint64_t next, id;
} interp;
static struct {
    uint64_t unused[2];
    void *interp;
    uint64_t unused_either[4];
    void *cframe;
} state = {.interp = &interp, .cframe = &cframe};

static void set_text(struct fake_text *text, const char *characters)
{
    text->length = strlen(characters);
    text->state = 1 << 2 | 1 << 5 | 1 << 6;
    memcpy(text->characters, characters, text->length);
}

static void set_field(struct fake_code *code, uint32_t offset, const void *value)
{
    memcpy(code->memory + offset, &value, sizeof value);
}

static void set_code(struct fake_code *code, const struct fake_text *name)
{
    const struct interp_layout *layout = &capture.reader.layout;
    set_field(code, layout->code_name, name);
    set_field(code, layout->code_qualname, name);
    set_field(code, layout->code_file, &file);
    set_field(code, layout->code_linetable, &linetable);
}

static uint8_t *unit_of(unsigned code, unsigned unit)
{
    return codes[code].memory + capture.reader.layout.code_units + 2 * (size_t)unit;
}

static void set_frame(unsigned which, unsigned code, unsigned unit, uint8_t owner)
{
    frames[which].code = (uintptr_t)&codes[code];
    frames[which].ip = (uintptr_t)unit_of(code, unit);
    frames[which].owner = owner;
    frames[which].previous = which == 0 ? 0 : (uintptr_t)&frames[which - 1];
    cframe.current = (uintptr_t)&frames[which];
}

/* ---- the interpreter's side --------------------------------------------------------------- */

static void *get_state(void)
{
    return &state;
}

static int not_finalizing(void)
{
    return 0;
}

static void view_frame(uintptr_t frame, struct seen_frame *view)
{
    frames_view(&capture.reader, frame, view);
}

static int n_whole;

static void view_whole(interp_visit_fn visit, void *context)
{
    n_whole++;
    for (uintptr_t at = cframe.current; at != 0; at = frames_below(&capture.reader, at)) {
        struct seen_frame view;
        if (((struct fake_frame *)at)->owner == SHIM)
            continue;
        view_frame(at, &view);
        if (!visit(context, &view))
            return;
    }
}

static uint32_t intern(uint32_t parent, const struct frame_place *place)
{
    return definitions_node(&capture.dict, parent, place);
}

static void prepare(void)
{
    static uint64_t slot[8192];
    const struct interp_binding binding = {
        .hexversion = 0x030c01f0,
        .attached_state = get_state,
        .known_state = get_state,
        .is_finalizing = not_finalizing,
        .view = {.frame = view_frame, .whole = view_whole},
    };
    pthread_mutex_init(&capture.lock, NULL);
    capture.reader.binding = binding;
    capture.reader.intern = intern;
    CHECK(layout_find(&capture.reader.layout, &binding) == NULL);
    set_text(&file, "app.py");
    set_text(&names[0], "outer");
    set_text(&names[1], "inner");
    set_text(&names[2], "other");
    linetable.length = 4;
    for (unsigned i = 0; i < 3; i++)
        set_code(&codes[i], &names[i]);
    definitions_start(&capture.dict, &capture.writer, &capture.reader.layout,
                      (struct ring_slot *)slot, sizeof slot);
    verify_start_locked(true);
}

/* ---- the cases ---------------------------------------------------------------------------- */

static struct frame_cache cache;

static uint32_t record(void)
{
    return frames_current(&capture.reader, &cache);
}

static uint64_t differences_of(uint32_t node, enum event_kind kind)
{
    struct verify_counts before, after;
    verify_counts(&before);
    verify_stack(node, kind);
    verify_counts(&after);
    CHECK_EQ(after.n_stacks, before.n_stacks + 1);
    return after.n_differences - before.n_differences;
}

static uint32_t two_frames(void)
{
    set_frame(0, 0, 0, SHIM);
    set_frame(1, 0, 7, 0);
    set_frame(2, 1, 3, 0);
    return record();
}

static void a_right_stack_differs_in_nothing(void)
{
    uint32_t node = two_frames();
    CHECK(node != 0);
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(differences_of(node, EVENT_MALLOC), 0);
        CHECK_EQ(differences_of(node, EVENT_REALLOC), 0);
    }
    CHECK(n_whole >= 2); /* both ways were taken */
    cframe.current = 0;
    CHECK_EQ(differences_of(0, EVENT_CALLOC), 0);
}

static void another_instruction_is_seen_at_any_depth(void)
{
    uint32_t node = two_frames();
    frames[2].ip += 2;
    CHECK_EQ(differences_of(node, EVENT_CALLOC), 1);
    node = two_frames();
    frames[1].ip += 2;
    CHECK_EQ(differences_of(node, EVENT_CALLOC), 1);
}

static void a_frame_too_many_or_too_few_is_seen(void)
{
    uint32_t node = two_frames();
    uint32_t longer;
    set_frame(3, 2, 1, 0);
    CHECK_EQ(differences_of(node, EVENT_CALLOC), 1);
    longer = record();
    cframe.current = frames[3].previous;
    CHECK_EQ(differences_of(longer, EVENT_CALLOC), 1);
    frames[2].previous = 0; /* without its caller */
    CHECK_EQ(differences_of(node, EVENT_CALLOC), 1);
    CHECK_EQ(differences_of(0, EVENT_CALLOC), 1);
}

static void other_code_at_a_known_address_is_seen(void)
{
    uint32_t node = two_frames();
    set_code(&codes[1], &names[2]); /* nobody was told that the old one died */
    CHECK_EQ(record(), node);
    CHECK_EQ(differences_of(node, EVENT_CALLOC), 1);
    CHECK(definitions_code_died(&capture.dict, (uintptr_t)&codes[1]));
    frames_code_died(&capture.reader, 0);
    CHECK_EQ(differences_of(record(), EVENT_CALLOC), 0);
    set_code(&codes[1], &names[1]);
    CHECK(definitions_code_died(&capture.dict, (uintptr_t)&codes[1]));
    frames_code_died(&capture.reader, 0);
}

static void code_that_nobody_asked_for_dies_unnoticed(void)
{
    const uintptr_t unseen = (uintptr_t)&codes[1] + 1;
    (void)two_frames();
    CHECK(!definitions_code_died(&capture.dict, unseen));
    definitions_hide(&capture.dict, &(struct frame_place){.code = unseen});
    CHECK(definitions_code_died(&capture.dict, unseen));
    CHECK(!definitions_code_died(&capture.dict, unseen));
    CHECK(definitions_code_died(&capture.dict, (uintptr_t)&codes[1]));
    frames_code_died(&capture.reader, 0);
}

/* What was asked for before is not known any more: then any code may be on a stack. */
static void after_another_epoch_all_code_is_missed(void)
{
    const uintptr_t unseen = (uintptr_t)&codes[1] + 1;
    definitions_hide(&capture.dict, &(struct frame_place){.code = unseen, .epoch = 7});
    CHECK(definitions_code_died(&capture.dict, unseen));
    CHECK(definitions_code_died(&capture.dict, unseen));
}

static void the_whole_walk_sees_differences_too(void)
{
    uint32_t node = two_frames();
    uint64_t n = 0;
    int before = n_whole;
    frames[2].ip += 2;
    for (int i = 0; i < 16; i++)
        n += differences_of(node, EVENT_MALLOC);
    CHECK_EQ(n, 16);
    CHECK_EQ(n_whole, before + 1);
}

int main(void)
{
    int log = open("/dev/null", O_WRONLY);
    CHECK(log >= 0);
    capture.writer.file.fd = log;
    prepare();
    a_right_stack_differs_in_nothing();
    another_instruction_is_seen_at_any_depth();
    a_frame_too_many_or_too_few_is_seen();
    other_code_at_a_known_address_is_seen();
    code_that_nobody_asked_for_dies_unnoticed();
    the_whole_walk_sees_differences_too();
    frames_release(&cache);
    close(log);
    after_another_epoch_all_code_is_missed();
    return 0;
}
