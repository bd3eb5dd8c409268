/*
 * spaces.c - what a compiler of the LLVM family says about a function in a namespace, by hand: GCC,
 * which builds the tests, has another way. `outer` is called function_in_space there, and all of
 * its code is said to be an inlined function's.
 */
#include <stdlib.h>

__attribute__((noinline)) void *outer(size_t n)
{
    void *volatile block = malloc(n + 2);
    return block;
}

#define ABBREVIATION(number_, tag_, has_children_) \
    ".uleb128 " #number_ ", " #tag_ "\n.byte " #has_children_ "\n"
#define ATTRIBUTE(name_, form_) ".uleb128 " #name_ ", " #form_ "\n"
#define RANGE ATTRIBUTE(0x11, 1) ATTRIBUTE(0x12, 7) /* low_pc: address; high_pc: its length */
#define NAME ATTRIBUTE(0x03, 8)
#define LAST ATTRIBUTE(0, 0)
#define ALL_OF_OUTER ".quad outer\n.quad 14b - outer\n"

__asm__(".text\n14:\n"
        ".pushsection .debug_abbrev, \"\", %progbits\n"
        /* 1 unit, 2 namespace, 3 abstract function, 4 function, 5 inlined function */
        ABBREVIATION(1, 0x11, 1) NAME RANGE LAST ABBREVIATION(2, 0x39, 1)
            NAME LAST ABBREVIATION(3, 0x2e, 0) NAME ATTRIBUTE(0x20, 0x0b)
                LAST ABBREVIATION(4, 0x2e, 1) NAME RANGE LAST ABBREVIATION(5, 0x1d, 0)
                    ATTRIBUTE(0x31, 0x13) RANGE LAST
        ".byte 0\n"
        ".popsection\n"
        ".pushsection .debug_info, \"\", %progbits\n"
        "10: .long 12f - 11f\n11: .short 4\n.long 0\n.byte 8\n"
        ".uleb128 1\n.asciz \"spaces.c\"\n" ALL_OF_OUTER ".uleb128 2\n.asciz \"space\"\n"
        "13: .uleb128 3\n.asciz \"within\"\n.byte 1\n"
        ".uleb128 4\n.asciz \"function_in_space\"\n" ALL_OF_OUTER
        ".uleb128 5\n.long 13b - 10b\n" ALL_OF_OUTER ".byte 0, 0, 0\n12:\n"
        ".popsection\n");
