import builtins; profile = getattr(builtins, "profile", lambda thing: thing)

@profile
def numbers(n):
    for i in range(n):          # HITS: 13
        got = yield i           # HITS: 10
        if got:                 # HITS: 10
            print("got", got)   # HITS: 1
    return "the end"            # HITS: 3

@profile
def all_of_them():
    result = yield from numbers(3)  # HITS: 1
    print("returned", result)       # HITS: 1

print(list(all_of_them()))
one, other = numbers(3), numbers(4)
print(next(one), next(other), one.send("hello"), list(one), list(other))
