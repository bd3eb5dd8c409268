import builtins; profile = getattr(builtins, "profile", lambda thing: thing)

def make(k):
    @profile
    def add(n):
        return n + k    # HITS: 3000
    return add

print(sum(make(k)(1) for k in range(3000)))
