import dataclasses, enum  # HITS: 1
@dataclasses.dataclass(order=True)
class D:
    x: int  # since 3.14 nothing runs here
    y: list = dataclasses.field(  # since 3.14 the annotation runs by itself, later
        default_factory=list
    )
    def __post_init__(self):  # HITS: 1
        self.x += 1  # HITS: 5
class E(enum.Enum):
    A = 1  # HITS: 1
    B = 2  # HITS: 1
    def __str__(self):  # HITS: 1
        return self.name  # HITS: 1
print(str(E.A), [D(i) for i in range(3)], D(1) < D(2))  # HITS: 1
