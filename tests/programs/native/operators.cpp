/* operators.cpp - every form of C++'s operators new and delete, each in a function of its own. */
#include <cstddef>
#include <new>
#include <string>
#include <vector>

static const std::align_val_t wide{64};

extern "C" {
void *make_0(size_t n) { return operator new(n); }
void *make_1(size_t n) { return operator new[](n); }
void *make_2(size_t n) { return operator new(n, std::nothrow); }
void *make_3(size_t n) { return operator new[](n, std::nothrow); }
void *make_4(size_t n) { return operator new(n, wide); }
void *make_5(size_t n) { return operator new[](n, wide); }
void *make_6(size_t n) { return operator new(n, wide, std::nothrow); }
void *make_7(size_t n) { return operator new[](n, wide, std::nothrow); }

/* Twelve ways to give back: the first eight are for blocks of make_0 to make_3. */
void drop_0(void *block, size_t) { operator delete(block); }
void drop_1(void *block, size_t) { operator delete[](block); }
void drop_2(void *block, size_t) { operator delete(block, std::nothrow); }
void drop_3(void *block, size_t) { operator delete[](block, std::nothrow); }
void drop_4(void *block, size_t n) { operator delete(block, n); }
void drop_5(void *block, size_t n) { operator delete[](block, n); }
void drop_6(void *block, size_t) { operator delete(block, wide); }
void drop_7(void *block, size_t) { operator delete[](block, wide); }
void drop_8(void *block, size_t) { operator delete(block, wide, std::nothrow); }
void drop_9(void *block, size_t) { operator delete[](block, wide, std::nothrow); }
void drop_10(void *block, size_t n) { operator delete(block, n, wide); }
void drop_11(void *block, size_t n) { operator delete[](block, n, wide); }

/* Whether an allocation that is too large ends as C++ says. */
int throws(size_t n)
{
    try {
        void *volatile block = operator new(n);
        return block == nullptr;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

/* The C++ library's own use, within it or inlined here: a vector and texts of n_bytes. */
size_t texts(size_t n, size_t n_bytes)
{
    std::vector<std::string> all;
    all.reserve(n);
    for (size_t i = 0; i < n; i++)
        all.push_back(std::string(n_bytes, 'x'));
    return all.size();
}
}
