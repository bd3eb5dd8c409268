#include "base/bytes.h"

#include "check.h"

static void varints_come_back_and_take_the_fewest_bytes(void)
{
    static const struct {
        uint64_t value;
        size_t n_bytes;
    } cases[] = {{0, 1},          {127, 1},        {128, 2},         {16383, 2},      {16384, 3},
                 {UINT32_MAX, 5}, {1ull << 62, 9}, {1ull << 63, 10}, {UINT64_MAX, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[VARINT_MAX_BYTES];
        struct put to = put_over(bytes, sizeof bytes);
        struct get from;
        put_varint(&to, cases[i].value);
        CHECK(!to.bad);
        CHECK_EQ(to.p - bytes, cases[i].n_bytes);
        from = get_over(bytes, (size_t)(to.p - bytes));
        CHECK(get_varint(&from) == cases[i].value);
        CHECK(!from.bad && get_left(&from) == 0);
    }
}

static void a_varint_of_more_than_64_bits_is_bad(void)
{
    uint8_t bytes[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    struct get from = get_over(bytes, sizeof bytes);
    (void)get_varint(&from);
    CHECK(from.bad);
}

static void a_get_never_passes_the_end_and_stays_bad(void)
{
    uint8_t bytes[3] = {0x80, 0x80, 0x80};
    struct get from = get_over(bytes, sizeof bytes);
    CHECK_EQ(get_varint(&from), 0);
    CHECK(from.bad);
    CHECK_EQ(get_u8(&from), 0);
    CHECK_EQ(get_left(&from), 0);
    CHECK(get_bytes(&from, 1) == NULL);
}

static void a_put_never_passes_the_end_and_stays_bad(void)
{
    uint8_t bytes[4] = {0, 0, 0, 0xee};
    struct put to = put_over(bytes, 3);
    put_u32(&to, 1);
    CHECK(to.bad);
    put_u8(&to, 1);
    CHECK_EQ(to.p - bytes, 0);
    CHECK_EQ(bytes[3], 0xee);
}

static void fixed_integers_are_little_endian(void)
{
    uint8_t bytes[8];
    struct put to = put_over(bytes, sizeof bytes);
    put_u64(&to, 0x0102030405060708ull);
    CHECK_EQ(bytes[0], 8);
    CHECK_EQ(bytes[7], 1);
}

static void zigzag_keeps_small_magnitudes_small(void)
{
    CHECK_EQ(zigzag(0), 0);
    CHECK_EQ(zigzag(-1), 1);
    CHECK_EQ(zigzag(1), 2);
    CHECK(unzigzag(zigzag(INT64_MIN)) == INT64_MIN);
    CHECK(unzigzag(zigzag(INT64_MAX)) == INT64_MAX);
}

int main(void)
{
    varints_come_back_and_take_the_fewest_bytes();
    a_varint_of_more_than_64_bits_is_bad();
    a_get_never_passes_the_end_and_stays_bad();
    a_put_never_passes_the_end_and_stays_bad();
    fixed_integers_are_little_endian();
    zigzag_keeps_small_magnitudes_small();
    return 0;
}
