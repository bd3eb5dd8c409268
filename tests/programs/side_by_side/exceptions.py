import builtins; profile = getattr(builtins, "profile", lambda thing: thing)

@profile
def divide(a, b):
    try:                                # HITS: 6
        result = a / b                  # HITS: 6
    except ZeroDivisionError:           # HITS: 3
        print("no result for", a)       # HITS: 2
        raise                           # HITS: 2
    except TypeError as error:          # HITS: 1
        return type(error).__name__     # HITS: 1
    else:
        return result                   # HITS: 3
    finally:
        done.append(a)                  # HITS: 6

@profile
def outer(pairs):
    for a, b in pairs:                  # HITS: 7
        try:                            # HITS: 6
            print(divide(a, b))         # HITS: 6
        except ArithmeticError:         # HITS: 2
            continue                    # HITS: 2

done = []
outer([(6, 3), (1, 0), (1, "a"), (9, 3), (2, 0), (5, 5)])
print(done)
