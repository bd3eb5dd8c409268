import builtins; profile = getattr(builtins, "profile", lambda thing: thing)

@profile
def stubborn():
    for i in range(5):              # HITS: 4
        try:                        # HITS: 4
            yield i                 # HITS: 4
        except ValueError as error: # HITS: 3
            print("caught", error)  # HITS: 2
    print("not reached")            # HITS: 0

generator = stubborn()
print(next(generator))
for text in ("first", "second"):
    print(generator.throw(ValueError(text)))
print(next(generator))
try:
    generator.throw(KeyError("out"))
except KeyError as error:
    print("left by", error)
