/* The parts below the hooks, one by one, so that sanitizers see them too. */
#include "capture/definitions.h"
#include "capture/modules.h"
#include "capture/ring_file.h"
#include "capture/writer.h"
#include "captured.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_file_gets_its_name_in_one_step(void)
{
    const char *path = test_path("named");
    struct output_file file;
    struct stat there;
    CHECK(output_create(&file, path) == 0);
    CHECK(access(path, F_OK) == -1);
    CHECK(output_append(&file, "one", 3) == 0);
    CHECK(output_publish(&file, path, false) == 0);
    CHECK(output_append(&file, "two", 3) == 0);
    output_close(&file);
    CHECK(stat(path, &there) == 0 && there.st_size == 6);
    CHECK(output_create(&file, path) == 0);
    CHECK(output_publish(&file, path, false) == -1 && errno == EEXIST);
    CHECK(output_publish(&file, path, true) == 0);
    CHECK(stat(path, &there) == 0 && there.st_size == 0);
    output_discard(&file);
    CHECK(access(path, F_OK) == -1);
}

static void a_full_device_is_told_and_takes_nothing(void)
{
    struct stat there;
    struct output_file file = {.fd = open("/dev/full", O_WRONLY), .path = "/dev/full"};
    CHECK(file.fd >= 0 && fstat(file.fd, &there) == 0);
    file.device = there.st_dev;
    file.inode = there.st_ino;
    CHECK(output_append(&file, "x", 1) == -1 && errno == ENOSPC);
    CHECK_EQ(file.n_bytes, 0);
    output_close(&file);
}

static void a_slot_is_used_again_and_the_file_grows(void)
{
    const uint8_t session[SESSION_ID_BYTES] = "0123456789abcdef";
    struct ring_slot *slots[40];
    struct ring_file ring;
    struct ring_slot *again;
    bool shared;
    CHECK(ring_file_create(&ring, test_path("slots"), session, false) == 0);
    CHECK(ring.header != NULL);
    for (uint32_t i = 0; i < 40; i++) {
        slots[i] = ring_file_take(&ring, i + 1, &shared);
        CHECK(slots[i] != NULL && shared);
        CHECK_EQ(slots[i]->stream, i + 1);
        CHECK_EQ(slots[i]->version % 2, 0);
        for (uint32_t before = 0; before < i; before++)
            CHECK(slots[before] != slots[i]);
    }
    CHECK_EQ(ring.header->n_slots, 64);
    ring_file_give(&ring, slots[7]);
    CHECK_EQ(slots[7]->used, 0);
    again = ring_file_take(&ring, 99, &shared);
    CHECK(again == slots[7]);
    CHECK_EQ(again->stream, 99);
    ring_file_remove(&ring);
    CHECK(access(test_path("slots.ring"), F_OK) == -1);
}

static void a_ring_that_cannot_be_made_is_private_memory(void)
{
    const uint8_t session[SESSION_ID_BYTES] = "0123456789abcdef";
    struct ring_file ring;
    bool shared = true;
    CHECK(ring_file_create(&ring, test_path("no-folder/x"), session, false) == 0);
    CHECK(ring.header == NULL && ring.dictionary != NULL);
    CHECK(ring_file_take(&ring, 1, &shared) != NULL);
    CHECK(!shared);
    ring_file_remove(&ring);
}

static void texts_have_one_id_each_and_any_length(void)
{
    static char longest[300000];
    static struct writer writer;
    static struct definitions dict;
    static struct interp_layout layout;
    static uint64_t slot[4096 / 8];
    const struct file_header header = {.content = FILE_HAS_MEMORY};
    const char *path = test_path("texts");
    struct captured captured;
    uint32_t ids[200];
    char text[32];
    memset(longest, 'x', sizeof longest);
    CHECK(writer_open(&writer, path, &header) == 0);
    CHECK(output_publish(&writer.file, path, true) == 0);
    definitions_start(&dict, &writer, &layout, (struct ring_slot *)slot, sizeof slot);
    CHECK_EQ(definitions_string(&dict, "", 0), 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 200; i++) {
            int n = snprintf(text, sizeof text, "text number %d", i);
            uint32_t id = definitions_string(&dict, text, (size_t)n);
            CHECK(round == 0 || id == ids[i]);
            ids[i] = id;
        }
        definitions_string(&dict, longest, sizeof longest); /* longer than the slot */
    }
    CHECK(definitions_flush(&dict) == 0);
    (void)writer_end(&writer, END_CLEAN, 0);
    writer_close(&writer);
    captured_read(&captured, path);
    CHECK_EQ(captured.log.ending, LOG_ENDED);
    CHECK_EQ(captured.log.dict.strings.n, 202);
    CHECK_EQ(captured.log.dict.strings.items[ids[57]].n_bytes, 14);
    CHECK(memcmp(captured.log.dict.strings.items[ids[57]].bytes, "text number 57", 14) == 0);
    CHECK_EQ(captured.log.dict.strings.items[201].n_bytes, sizeof longest);
    captured_release(&captured);
}

static void an_option_can_be_added_to_the_header_later(void)
{
    static struct writer writer;
    const struct file_header header = {.content = FILE_HAS_MEMORY, .options = 8};
    const char *path = test_path("options");
    struct captured captured;
    CHECK(writer_open(&writer, path, &header) == 0);
    CHECK(output_publish(&writer.file, path, true) == 0);
    writer_add_option(&writer, OPTION_NO_RING);
    (void)writer_end(&writer, END_CLEAN, 3);
    writer_close(&writer);
    captured_read(&captured, path);
    CHECK_EQ(captured.log.header.options, 8 | OPTION_NO_RING);
    CHECK_EQ(captured.log.end.n_lost, 3);
    captured_release(&captured);
}

/* Threads may hand in what the loader told them in another order than they asked it in. */
static void an_older_list_of_modules_is_left_alone(void)
{
    static struct writer writer;
    static struct definitions dict;
    static struct interp_layout layout;
    static uint64_t slot[65536 / 8];
    const struct file_header header = {.content = FILE_HAS_MEMORY};
    const uintptr_t there = (uintptr_t)getpid; /* in the C library; the program comes first */
    struct modules modules = {0};
    struct modules_snapshot snapshot;
    CHECK(writer_open(&writer, test_path("modules"), &header) == 0);
    definitions_start(&dict, &writer, &layout, (struct ring_slot *)slot, sizeof slot);
    modules_start(&modules, NULL);
    CHECK(modules_look(&snapshot) == 0);
    CHECK(!modules_update(&modules, &dict, &snapshot));
    CHECK(modules_find(&modules, there) != NULL);
    snapshot.n = 1; /* as it would have been before the others came */
    snapshot.counts.n_loads--;
    CHECK(!modules_update(&modules, &dict, &snapshot));
    CHECK(modules_find(&modules, there) != NULL);
    snapshot.counts.n_loads += 2;
    snapshot.counts.n_unloads++;
    CHECK(modules_update(&modules, &dict, &snapshot));
    CHECK(modules_find(&modules, there) == NULL);
    modules_forget(&snapshot);
    writer_discard(&writer);
}

int main(void)
{
    a_file_gets_its_name_in_one_step();
    a_full_device_is_told_and_takes_nothing();
    a_slot_is_used_again_and_the_file_grows();
    a_ring_that_cannot_be_made_is_private_memory();
    texts_have_one_id_each_and_any_length();
    an_option_can_be_added_to_the_header_later();
    an_older_list_of_modules_is_left_alone();
    return 0;
}
