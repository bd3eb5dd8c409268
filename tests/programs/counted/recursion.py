def fib(n):  # HITS: 1
    if n < 2:  # HITS: 465
        return n  # HITS: 233
    a = fib(n - 1)  # HITS: 232
    b = fib(n - 2)  # HITS: 232
    return a + b  # HITS: 232
def even(n):  # HITS: 1
    if n == 0:  # HITS: 26
        return True  # HITS: 1
    return odd(n - 1)  # HITS: 25
def odd(n):  # HITS: 1
    if n == 0:  # HITS: 25
        return False
    return even(n - 1)  # HITS: 25
print(fib(12), even(50))  # HITS: 1
def deep(n):  # HITS: 1
    try:  # HITS: 72
        if n == 0:  # HITS: 72
            raise LookupError  # HITS: 3
        deep(n - 1)  # HITS: 69
    except LookupError:  # HITS: 69
        if n % 2:  # HITS: 69
            raise  # HITS: 33
        elif n > 20:  # HITS: 36
            return  # HITS: 3
        raise LookupError(n) from None  # HITS: 33
    finally:
        n = None  # HITS: 72
for k in range(3):  # HITS: 4
    deep(23)  # HITS: 3
