import threading  # HITS: 1
from concurrent.futures import ThreadPoolExecutor  # HITS: 1
def fib(n):  # HITS: 1
    if n < 2:  # HITS: 678
        return n  # HITS: 359
    a = fib(n - 1)  # HITS: 319
    b = fib(n - 2)  # HITS: 319
    return a + b  # HITS: 319
with ThreadPoolExecutor(4) as ex:  # HITS: 1
    fs = [ex.submit(fib, i % 9) for i in range(40)]  # HITS: 1
    print(sum(f.result() for f in fs))
local = threading.local()  # HITS: 1
def worker(n):  # HITS: 1
    local.x = 0  # HITS: 8
    for i in range(n):  # HITS: 392
        local.x += i  # HITS: 392
        if i == n - 2:  # HITS: 392
            break  # HITS: 8
    while local.x > 0:  # HITS: 1896
        local.x -= 5  # HITS: 1888
        if local.x == 7: break  # HITS: 1888
    else:
        local.x = -1  # HITS: 8
    return  # HITS: 8
ts = [threading.Thread(target=worker, args=(50,)) for _ in range(8)]  # HITS: 1
for t in ts:  # HITS: 9
    t.start()  # HITS: 8
for t in ts:  # HITS: 9
    t.join()  # HITS: 8
