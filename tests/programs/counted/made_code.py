from os.path import *  # HITS: 1
import doctest  # HITS: 1
import sys  # HITS: 1
ns = {}  # HITS: 1
exec("""
def ex(n):
    for i in range(n):
        n += 1
    return n
""", ns)
print(ns["ex"](3))  # HITS: 1
def dt(x):  # HITS: 1
    """
    >>> dt(2)
    4
    >>> for i in range(3):
    ...     print(dt(i))
    0
    2
    4
    """
    return x * 2  # HITS: 4
print(doctest.testmod(sys.modules["__main__"]))  # HITS: 1
print(eval("[i for i in range(3)]"))  # HITS: 1
g = (x
     for x in range(4)
     if x)
print(list(g))  # HITS: 1
a = b = c = 3; a += 1; b += 2  # HITS: 1
x, *y = range(4)  # HITS: 1
if a: pass  # HITS: 1
if not a: pass  # HITS: 1
else: b = 3  # HITS: 1
try: int("x")  # HITS: 1
except ValueError: pass  # HITS: 1
try:  # HITS: 1
    try:  # HITS: 1
        int("y")  # HITS: 1
    finally:
        a = 3  # HITS: 1
except ValueError as err:  # HITS: 1
    pass  # HITS: 1
lst = [  # HITS: 1
    i
    for i in range(5)
    if i % 2
]
n = 0  # HITS: 1
while n < 4:  # HITS: 5
    n += 1  # HITS: 4
del n  # HITS: 1
global_lambda = lambda: 3
print(global_lambda())  # HITS: 1
