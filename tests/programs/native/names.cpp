// Names as C++ mangles them.
#include <cstdlib>

namespace shop {
struct Basket {
    __attribute__((noinline)) char *fill(unsigned long n);
};
char *Basket::fill(unsigned long n)
{
    char *block = static_cast<char *>(std::malloc(n)); // FILL
    if (block)
        block[0] = 1;
    return block;
}
} // namespace shop

extern "C" char *fill_basket(unsigned long n)
{
    char *block = shop::Basket().fill(n);
    if (block)
        block[1] = 2;
    return block;
}
