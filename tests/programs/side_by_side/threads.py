import builtins; profile = getattr(builtins, "profile", lambda thing: thing)
from concurrent.futures import ThreadPoolExecutor
import threading

@profile
def work(n):
    total = 0               # HITS: 400
    for i in range(n):      # HITS: 20400
        total += i          # HITS: 20000
    return total            # HITS: 400

barrier = threading.Barrier(4)

def together(_):
    barrier.wait()
    return sum(work(50) for _ in range(100))

with ThreadPoolExecutor(4) as executor:
    print(sum(executor.map(together, range(4))))
