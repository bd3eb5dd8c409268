import builtins; profile = getattr(builtins, "profile", lambda thing: thing)
import time

@profile
def down(n):
    if n == 0:              # HITS: 6
        time.sleep(0.02)    # HITS: 1
        return 0            # HITS: 1
    return 1 + down(n - 1)  # HITS: 5

@profile
def ackermann(m, n):
    if m == 0:                                          # HITS: 71
        return n + 1                                    # HITS: 32
    if n == 0:                                          # HITS: 39
        return ackermann(m - 1, 1)                      # HITS: 9
    return ackermann(m - 1, ackermann(m, n - 1))        # HITS: 30

print(down(5), ackermann(2, 3) + ackermann(2, 2))
