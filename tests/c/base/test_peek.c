#include "base/peek.h"

#include "base/arena.h"
#include "check.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static struct peek peek;

static void what_is_there_is_read(void)
{
    static char text[3 * PEEK_PAGE_BYTES];
    char copy[100];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i % 251);
    peek_forget(&peek);
    for (size_t at = 0; at + sizeof copy <= sizeof text; at += 37) {
        CHECK(peek_bytes(&peek, (uintptr_t)text + at, copy, sizeof copy));
        CHECK(memcmp(copy, text + at, sizeof copy) == 0);
    }
}

static void pages_are_kept_until_they_are_forgotten(void)
{
    static uintptr_t value = 1;
    uintptr_t copy = 0;
    peek_forget(&peek);
    CHECK(peek_word(&peek, (uintptr_t)&value, &copy) && copy == 1);
    value = 2;
    CHECK(peek_word(&peek, (uintptr_t)&value, &copy) && copy == 1);
    peek_forget(&peek);
    CHECK(peek_word(&peek, (uintptr_t)&value, &copy) && copy == 2);
}

static void what_is_not_there_cannot_fault(void)
{
    uint8_t *pages = pages_alloc(3 * PEEK_PAGE_BYTES);
    uintptr_t at = (uintptr_t)pages, copy;
    CHECK(pages != NULL);
    pages[0] = pages[2 * PEEK_PAGE_BYTES] = 1; /* present */
    pages_free(pages + PEEK_PAGE_BYTES, PEEK_PAGE_BYTES);
    CHECK(mprotect(pages + 2 * PEEK_PAGE_BYTES, PEEK_PAGE_BYTES, PROT_NONE) == 0);
    errno = 99;
    CHECK(peek_word(&peek, at + PEEK_PAGE_BYTES - 8, &copy));
    CHECK(!peek_word(&peek, at + PEEK_PAGE_BYTES - 7, &copy)); /* ends in the hole */
    CHECK(!peek_word(&peek, at + PEEK_PAGE_BYTES, &copy));
    CHECK(!peek_word(&peek, at + 2 * PEEK_PAGE_BYTES, &copy));
    CHECK(!peek_word(&peek, 0, &copy));
    CHECK(!peek_word(&peek, 8, &copy));
    CHECK(!peek_word(&peek, UINTPTR_MAX - 3, &copy));
    CHECK(!peek_word(&peek, (uintptr_t)1 << 55, &copy));
    CHECK_EQ(errno, 99);
    pages_free(pages, PEEK_PAGE_BYTES);
    pages_free(pages + 2 * PEEK_PAGE_BYTES, PEEK_PAGE_BYTES);
}

int main(void)
{
    what_is_there_is_read();
    pages_are_kept_until_they_are_forgotten();
    what_is_not_there_cannot_fault();
    return 0;
}
