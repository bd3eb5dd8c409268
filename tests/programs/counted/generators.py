import contextlib  # HITS: 1
def gen(n):  # HITS: 1
    total = 0  # HITS: 24
    try:  # HITS: 24
        for i in range(n):  # HITS: 66
            try:  # HITS: 56
                got = yield i  # HITS: 56
                if got:  # HITS: 32
                    total += got  # HITS: 5
            except ValueError as e:  # HITS: 24
                total += 100  # HITS: 5
                continue  # HITS: 5
            except (KeyError,  # HITS: 19
                    TypeError):
                total += 1000  # HITS: 5
            finally:
                total += 1  # HITS: 56
        else:
            total += 10000  # HITS: 10
    except GeneratorExit:  # HITS: 14
        print("closing", total)  # HITS: 9
        raise  # HITS: 9
    finally:
        print("end", total)  # HITS: 24
    return total  # HITS: 10

def outer(n):  # HITS: 1
    r = yield from gen(n)  # HITS: 10
    print("r", r)  # HITS: 5
    r2 = yield from gen(2)  # HITS: 5
    return r + r2  # HITS: 5

def drive():  # HITS: 1
    g = outer(4)  # HITS: 5
    print(next(g))  # HITS: 5
    print(g.send(5))  # HITS: 5
    print(g.throw(ValueError("x")))  # HITS: 5
    print(g.throw(KeyError, "y"), "k") if False else print(g.throw(KeyError("y")))  # HITS: 5
    try:  # HITS: 5
        while True:  # HITS: 15
            print(next(g))  # HITS: 15
    except StopIteration as stop:  # HITS: 5
        print(stop.value)  # HITS: 5
    h = outer(3)  # HITS: 5
    next(h)  # HITS: 5
    h.close()  # HITS: 5
    k = outer(3)  # HITS: 5
    k.close()  # HITS: 5
    del k  # HITS: 5
    j = gen(3)  # HITS: 5
    next(j)  # HITS: 5
    try:  # HITS: 5
        j.throw(RuntimeError("out"))  # HITS: 5
    except RuntimeError as e:  # HITS: 5
        print(e)  # HITS: 5
for _ in range(5):  # HITS: 6
    drive()  # HITS: 5
def early():  # HITS: 1
    for x in gen(10):  # HITS: 16
        if x == 3:  # HITS: 16
            break  # HITS: 4
    else:
        print("never")
    return x  # HITS: 4
print([early() for _ in range(4)])  # HITS: 1
