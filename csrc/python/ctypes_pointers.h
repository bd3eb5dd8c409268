/*
 * ctypes_pointers.h - functions of C that ctypes looked up before a capture put its hooks in.
 *
 * `libc.malloc` keeps the address that it had when it was first named; most programs name their
 * functions when they are imported.
 */
#ifndef PROFTRACE_PYTHON_CTYPES_POINTERS_H
#define PROFTRACE_PYTHON_CTYPES_POINTERS_H

/*
 * Makes every function object of ctypes that stands for one of our hooks' functions call the hook.
 * Does nothing where ctypes is not loaded. Keeps the current exception; with the GIL held.
 */
void ctypes_pointers_hook(void);

#endif
