def tf(n):  # HITS: 1
    for i in range(n):  # HITS: 25
        try:  # HITS: 20
            if i == 1:  # HITS: 20
                continue  # HITS: 5
            if i == 2:  # HITS: 15
                raise ValueError  # HITS: 4
            if i == 4:  # HITS: 11
                return i  # HITS: 2
        except ValueError:  # HITS: 4
            i = 9  # HITS: 4
        else:
            i = 8  # HITS: 9
        finally:
            n -= 1  # HITS: 20
    return n  # HITS: 5
print([tf(i) for i in range(7)])  # HITS: 1
def star(n):  # HITS: 1
    try:  # HITS: 2
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)][:n])  # HITS: 2
    except* ValueError as e:  # HITS: 2
        a = 1  # HITS: 2
    except* KeyError:  # HITS: 2
        a = 2  # HITS: 1
    except* (TypeError,  # HITS: 2
             OSError):
        a = 3
    return a  # HITS: 2
print(star(1), star(2))  # HITS: 1
