import contextlib  # HITS: 1
from functools import lru_cache, singledispatch  # HITS: 1
@singledispatch
def sd(x):
    return "o"  # HITS: 1
@sd.register
def _(x: int):
    return "i"  # HITS: 1
@sd.register(str)
def _s(x):
    return "s"  # HITS: 1
print(sd(1), sd("a"), sd(2.0))  # HITS: 1
@lru_cache
def lc(n):
    return n if n < 2 else lc(n - 1) + lc(n - 2)  # HITS: 31
print(lc(30))  # HITS: 1
@contextlib.contextmanager
def cm(n):
    try:  # HITS: 3
        yield n  # HITS: 3
    except KeyError:  # HITS: 1
        print("k")  # HITS: 1
    finally:
        n += 1  # HITS: 3
for i in range(3):  # HITS: 4
    with cm(i) as q:  # HITS: 3
        if i == 1:  # HITS: 3
            raise KeyError  # HITS: 1
