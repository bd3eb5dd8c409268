def elifs(x):  # HITS: 1
    if x == 0:  # HITS: 15
        r = 0  # HITS: 1
    elif x == 1:  # HITS: 14
        r = 1  # HITS: 1
    elif (x == 2 and  # HITS: 13
          True):
        r = 2  # HITS: 1
    elif x in (3,  # HITS: 12
               4): r = 3
    elif (y := x * 2) > 20:  # HITS: 10
        r = y  # HITS: 4
    else:
        r = -1  # HITS: 6
    assert r is not None, (  # HITS: 15
        "no"
    )
    assert x < 100, f"big {x}"  # HITS: 15
    return r  # HITS: 15
print([elifs(i) for i in range(15)])  # HITS: 1
