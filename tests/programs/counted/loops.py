def loops(n):  # HITS: 1
    i = 0  # HITS: 3
    while i < n:  # HITS: 54
        i += 1  # HITS: 52
        if i == 3:  # HITS: 52
            continue  # HITS: 1
        if i == 50:  # HITS: 51
            break  # HITS: 1
    else:
        i = -1  # HITS: 2
    while True:  # HITS: 15
        i += 1  # HITS: 15
        if i > 5: break  # HITS: 15
    for a in range(2):  # HITS: 9
        for b in range(3):  # HITS: 24
            if b == 1: continue  # HITS: 18
            i += b  # HITS: 12
        else:
            i += 100  # HITS: 6
    for _ in (): i = 0  # HITS: 3
    for q, w in [(1, 2)] * 3: i += q; i += w  # HITS: 3
    for q in range(3):  # HITS: 12
        pass  # HITS: 9
    for q in range(3): ...  # HITS: 3
    return i  # HITS: 3
print([loops(n) for n in (0, 2, 60)])  # HITS: 1
