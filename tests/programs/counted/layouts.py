import sys  # HITS: 1
def multi(n):  # HITS: 1
    total = 0  # HITS: 6
    d = {  # HITS: 6
        "a": n,
        "b": [
            n,
            n + 1,
        ],
        **{"c": n},
    }
    total = sum(  # HITS: 6
        d["b"]
    ) + max(
        n,
        3,
    )
    s = f"""{n}
      {total:>{n}}
      {d['a']!r}
    """
    t = ("a"  # HITS: 6
         "b" +
         str(n))
    print(  # HITS: 6
        len(s), t,
        sep="",
        file=sys.stderr if n > 100 else
        sys.stdout,
    )
    if (
        n > 3
        and total > 5
        or n == 1
    ):
        total += 1  # HITS: 3
    while (
        total > 10
    ):
        total -= 3  # HITS: 5
    x = (n  # HITS: 6
         if n > 2
         else -n)
    lam = lambda a, b=n: (
        a + b
    )
    y = lam(  # HITS: 6
        x
    )
    del d["a"], \
        x
    return (  # HITS: 6
        y,
        total
    )
for k in range(6): multi(k)  # HITS: 1
