/*
 * fuzz_reader.c - damaged logs through the reading side: `fuzz_reader ROUNDS SEED`.
 *
 * Whatever the bytes: no crash (run it under the sanitizers), an error with a text or tables that
 * agree with each other. The same seed makes the same files; a failing round's files are kept.
 */
#include "check.h"
#include "mutate.h"
#include "profile/build.h"
#include "profile/bundle.h"

#include <fcntl.h>
#include <unistd.h>

#define FILE_ROOM (1u << 20)

static char folder[] = "/tmp/proftrace-fuzz-XXXXXX";
static char path[64], ring_path[64], bundle_path[64];
#define N_SEEDS 8
static struct log_fixture seeds[N_SEEDS];
static uint8_t ring_seed[FIXTURE_RING_BYTES];

static void check_stacks(const struct stacks *stacks)
{
    for (size_t row = 1; row < stacks->rows.n; row++) {
        CHECK(stacks->rows.items[row].parent < row);
        CHECK(stacks->rows.items[row].frame < stacks->frames.n);
    }
    for (size_t i = 0; i < stacks->frames.n; i++)
        CHECK(stacks->frames.items[i].function < stacks->functions.n);
    for (size_t i = 0; i < stacks->functions.n; i++) {
        const struct function *function = &stacks->functions.items[i];
        CHECK(function->name < stacks->strings.n && function->qualname < stacks->strings.n &&
              function->file < stacks->strings.n);
    }
}

/* The sums over the sites are the totals, and what came is what went or is still there. */
static void check_history(const struct built_profile *profile)
{
    const struct history *history = &profile->history;
    int64_t total = 0, peak = 0, live_bytes = 0, live_blocks = 0, sizes = 0;
    for (size_t i = 0; i < history->sites.n; i++) {
        const struct site *site = &history->sites.items[i];
        CHECK(site->stack < profile->stacks.rows.n);
        CHECK(site->thread < profile->log.dict.threads.n);
        CHECK(site->bytes >= 0 && site->blocks >= 0);
        total += history->totals.sites.items[i].bytes;
        peak += history->peak.sites.items[i].at_peak.bytes;
        live_bytes += site->bytes;
        live_blocks += site->blocks;
    }
    for (int i = 0; i < SIZE_CLASSES; i++)
        sizes += history->totals.sizes[i];
    CHECK_EQ(sizes, history->totals.n_allocations);
    CHECK_EQ(total, history->totals.bytes);
    CHECK_EQ(peak, history->peak.highest.bytes);
    CHECK_EQ(live_bytes, history->peak.live.bytes);
    CHECK_EQ(live_blocks, history->totals.n_allocations - history->totals.n_frees);
}

/*
 * Whatever could be read can be merged, and says the same twice in one file. Of a block with a
 * right checksum that makes no sense the good start is read, but not merged.
 */
static void check_bundle(const struct built_profile *profile)
{
    const bool exact = profile->log.ending != LOG_DAMAGED;
    struct read_error error = {0};
    size_t start = 0;
    int fd = open(bundle_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK(bundle_write(&profile->log, NULL, fd, &error) == 0);
    CHECK(bundle_write(&profile->log, NULL, fd, &error) == 0);
    close(fd);
    for (int i = 0; i < 2; i++) {
        struct built_profile copy;
        CHECK(profile_build_at(&copy, bundle_path, start, true, &error) == 0);
        CHECK(copy.history.n_events <= profile->history.n_events);
        if (exact) {
            CHECK_EQ(copy.history.n_events, profile->history.n_events);
            CHECK_EQ(copy.history.peak.highest.bytes, profile->history.peak.highest.bytes);
            CHECK_EQ(copy.stacks.rows.n, profile->stacks.rows.n);
        }
        start = copy.log.next_log;
        CHECK((start != 0) == (i == 0));
        profile_release(&copy);
    }
}

/* Returns whether the file could be read. */
static bool read_once(void)
{
    struct built_profile profile;
    struct read_error error = {0};
    bool read = profile_build(&profile, path, &error) == 0;
    if (read) {
        check_stacks(&profile.stacks);
        check_history(&profile);
        check_bundle(&profile);
    } else {
        CHECK(error.kind != READ_OK && error.kind != READ_NO_MEMORY && error.text[0] != '\0');
    }
    profile_release(&profile);
    return read;
}

static bool damage_bytes(struct random *random, const struct log_fixture *seed)
{
    static uint8_t bytes[FILE_ROOM];
    size_t n_bytes;
    memcpy(bytes, seed->bytes, seed->n_bytes);
    n_bytes = mutate_bytes(random, bytes, seed->n_bytes, sizeof bytes);
    write_file(path, bytes, n_bytes);
    return read_once();
}

static bool damage_blocks(struct random *random, const struct log_fixture *seed)
{
    struct log_fixture *out = calloc(1, sizeof *out);
    bool read;
    CHECK(out != NULL);
    mutate_blocks(random, seed, out);
    write_file(path, out->bytes, out->n_bytes);
    read = read_once();
    free(out->bytes);
    free(out);
    return read;
}

static bool damage_ring(struct random *random, const struct log_fixture *seed)
{
    static uint8_t ring[2 * FIXTURE_RING_BYTES];
    size_t n_bytes = FIXTURE_RING_BYTES;
    bool read;
    memcpy(ring, ring_seed, sizeof ring_seed);
    if (random_below(random, 2)) {
        n_bytes = mutate_bytes(random, ring, n_bytes, sizeof ring);
    } else {
        /* The layout and the slots' heads are a few bytes of many: aim at them. */
        size_t slot = random_below(random, 4);
        uint8_t *head = slot == 0 ? ring + 8 : ring + 4096 + (slot - 1) * 1024;
        (void)mutate_bytes(random, head, 120, 120);
    }
    write_file(ring_path, ring, n_bytes);
    write_file(path, seed->bytes, seed->n_bytes);
    read = read_once();
    unlink(ring_path);
    return read;
}

int main(int argc, char **argv)
{
    struct random random;
    uint64_t rounds, n_read = 0;
    CHECK_EQ(argc, 3);
    rounds = strtoull(argv[1], NULL, 10);
    random.state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/log", folder);
    snprintf(bundle_path, sizeof bundle_path, "%s/bundle", folder);
    snprintf(ring_path, sizeof ring_path, "%s/log.ring", folder);
    fixture_memory(&seeds[0], true);
    fixture_memory(&seeds[1], false);
    fixture_lines(&seeds[2]);
    seeds[3].stores_plainly = true;
    fixture_memory(&seeds[3], true);
    fixture_native(&seeds[4]);
    fixture_bounded(&seeds[5]);
    fixture_sampled(&seeds[6]);
    fixture_small(&seeds[7]);
    fixture_ring(ring_seed);
    for (uint64_t i = 0; i < rounds; i++) {
        const struct log_fixture *seed = &seeds[random_below(&random, N_SEEDS)];
        switch (random_below(&random, 4)) {
        case 0:
            n_read += damage_bytes(&random, seed);
            break;
        case 1:
            n_read += damage_ring(&random, &seeds[1]);
            break;
        default:
            n_read += damage_blocks(&random, seed);
            break;
        }
    }
    printf("%llu of %llu damaged files were read\n", (unsigned long long)n_read,
           (unsigned long long)rounds);
    CHECK(n_read > rounds / 4);
    unlink(path);
    unlink(bundle_path);
    rmdir(folder);
    for (int i = 0; i < N_SEEDS; i++)
        free(seeds[i].bytes);
    return 0;
}
