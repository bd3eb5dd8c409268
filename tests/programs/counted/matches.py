def m(x):  # HITS: 1
    match x:  # HITS: 10
        case 0:  # HITS: 10
            return "zero"  # HITS: 1
        case [a, b] if a == b:  # HITS: 9
            return "pair"  # HITS: 1
        case [a, *rest]:  # HITS: 8
            return "seq"  # HITS: 1
        case {"k": v, **kw}:  # HITS: 7
            return "map"  # HITS: 1
        case str() | bytes():  # HITS: 6
            return "text"  # HITS: 2
        case complex(real=r, imag=i):  # HITS: 4
            return "c"  # HITS: 1
        case _:  # HITS: 3
            return "other"  # HITS: 3
print([m(x) for x in (0, [1, 1], [1, 2], {"k": 1}, "s", b"", 1j, None, (), 5)])  # HITS: 1
