import functools  # HITS: 1

def deco(f):  # HITS: 1
    @functools.wraps(f)
    def inner(*a, **k):
        r = f(*a, **k)  # HITS: 3006
        return r  # HITS: 3006
    return inner  # HITS: 3001
def deco2(x):  # HITS: 1
    def mid(f):  # HITS: 2
        @functools.wraps(f)
        def inner2(*a):
            return f(*a) + x  # HITS: 12
        return inner2  # HITS: 2
    return mid  # HITS: 2
@deco
@deco2(  # HITS: 1
    5
)
@deco2(6)  # HITS: 1
def target(x,
           y=(lambda q: q * 2)(4),
           *, z=[
               i for i in range(3)
           ]):
    x += y  # HITS: 6
    return x  # HITS: 6
print([target(i) for i in range(6)])  # HITS: 1
def make(i):  # HITS: 1
    @deco
    def closure():
        return i  # HITS: 3000
    return closure  # HITS: 3000
print(sum(make(i)() for i in range(3000)))
