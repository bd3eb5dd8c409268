"""forbid.py NAMES COMMAND...: runs a command to which the kernel refuses these system calls.

As containers do it, with a seccomp filter; the calls fail with EPERM.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {  # by machine
    "x86_64": {"perf_event_open": 298, "timer_create": 222, "process_vm_readv": 310, "clone": 56},
    "aarch64": {"perf_event_open": 241, "timer_create": 107, "process_vm_readv": 270, "clone": 220},
}[platform.machine()]
CLONE3 = 435
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
SECCOMP_MODE_FILTER = 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH = 0x7FFF0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def refuse(number: int, error: int) -> bytes:
    return instruction(JUMP_IF_EQUAL, number, 0, 1) + instruction(RETURN, FAIL_WITH | error)


names = sys.argv[1].split(",")
filters = [refuse(NUMBERS[name], errno.EPERM) for name in names]
if "clone" in names:  # the C library tries the newer call first
    filters.append(refuse(CLONE3, errno.ENOSYS))
text = b"".join([instruction(LOAD_NUMBER, 0), *filters, instruction(RETURN, ALLOW)])
room = ctypes.create_string_buffer(text, len(text))
program = Program(len(text) // 8, ctypes.addressof(room))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
    PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
):
    sys.exit(f"forbid.py: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[2], sys.argv[2:])
