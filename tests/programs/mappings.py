"""Maps, unmaps, moves and resizes pages at random inside one reservation; prints whose they are.

`mappings.py SEED`: prints the bytes that each function holds at the end and has asked for in all,
and the most that was held at a time, as JSON. The bookkeeping is a list of pages.
"""

import ctypes
import json
import random
import sys

PAGE, N_PAGES, MOST = 4096, 512, 40
PRIVATE, NO_RESERVE = 0x22, 0x4000
FAILED = 2**64 - 1

libc = ctypes.CDLL(None)
pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
mmap = ctypes.CFUNCTYPE(pointer, pointer, size, number, number, number, ctypes.c_long)(
    ("mmap", libc)
)
munmap = ctypes.CFUNCTYPE(number, pointer, size)(("munmap", libc))
move = ctypes.CFUNCTYPE(pointer, pointer, size, size, number, pointer)(("mremap", libc))
resize = ctypes.CFUNCTYPE(pointer, pointer, size, size, number)(("mremap", libc))

SITES = """
def map{0}(at, n):
    return mmap(at, n, 3, 0x32, -1, 0)
def move{0}(old, n, new, at):
    return move(old, n, new, 3, at)
def resize{0}(old, n, new):
    return resize(old, n, new, 0)
"""
functions = {"mmap": mmap, "move": move, "resize": resize}
exec(compile("".join(SITES.format(k) for k in range(6)), "sites.py", "exec"), functions)
dice = random.Random(int(sys.argv[1]))


def reserve():
    return mmap(None, N_PAGES * PAGE, 0, PRIVATE | NO_RESERVE, -1, 0)


base = reserve()
owners = [("reserve", 0)] * N_PAGES
asked = {"reserve": N_PAGES * PAGE}


def own(site, serial, at, n):
    owners[at : at + n] = [(site, serial)] * n
    asked[site] = asked.get(site, 0) + n * PAGE


def run_of_pages(most):
    """Return where pages of one mapping start and how many there are."""
    pages = [at for at, owner in enumerate(owners) if owner and owner[0] != "reserve"]
    if not pages:
        return 0, 0
    start = end = dice.choice(pages)
    while end < N_PAGES and owners[end] == owners[start] and end - start < most:
        end += 1
    return start, end - start


def step(serial):
    what, k = (
        dice.choice(["map", "map", "map", "unmap", "move", "move", "resize"]),
        dice.randrange(6),
    )
    at, n = dice.randrange(N_PAGES - MOST), dice.randrange(1, MOST)
    site, to = f"{what}{k}", base + at * PAGE
    if what == "map":
        assert functions[site](to, n * PAGE) == to
        own(site, serial, at, n)
    elif what == "unmap":
        assert munmap(to, n * PAGE) == 0
        owners[at : at + n] = [None] * n
    else:
        start, old = run_of_pages(n if what == "move" else N_PAGES)
        place = base + start * PAGE
        new = dice.randrange(1, MOST)
        if what == "move":
            if old == 0 or (at < start + old and start < at + new):
                return
            assert functions[site](place, old * PAGE, new * PAGE, to) == to
        else:
            if old == 0 or functions[site](place, old * PAGE, new * PAGE) == FAILED:
                return
            at = start
        owners[start : start + old] = [None] * old
        own(site, serial, at, new)


peak = N_PAGES * PAGE
for serial in range(400):
    step(serial)
    peak = max(peak, PAGE * sum(owner is not None for owner in owners))
held = {}
for owner in owners:
    if owner is not None:
        held[owner[0]] = held.get(owner[0], 0) + PAGE
print(json.dumps({"held": held, "asked": asked, "peak": peak}))
