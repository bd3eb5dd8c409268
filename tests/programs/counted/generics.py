from functools import partial  # HITS: 1
def gen[T: int](x: T, *, d=None) -> T:
    y: T = x  # HITS: 2
    return y  # HITS: 2
class G[T]:
    def m[U](self, u: U) -> T:
        return u  # HITS: 1
type Alias[T] = list[T]
print(gen(3), G[int]().m(4), Alias.__value__)  # HITS: 1
p = partial(gen, d=4)  # HITS: 1
p(3)  # HITS: 1
