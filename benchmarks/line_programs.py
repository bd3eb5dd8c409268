"""Seven small programs of different kinds; every function but the drivers is profiled."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.instrument import profile


@profile
def fib(n: int) -> int:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@profile
def matmul(left: list[list[int]], right: list[list[int]]) -> list[list[int]]:
    columns = list(zip(*right, strict=True))
    product = []
    for row in left:
        line = []
        for column in columns:
            total = 0
            for k in range(len(row)):
                total += row[k] * column[k]
            line.append(total)
        product.append(line)
    return product


@profile
def tokenize(text: str) -> list[tuple[str, str]]:
    tokens = []
    at = 0
    while at < len(text):
        first = text[at]
        end = at + 1
        if first.isspace():
            at = end
            continue
        if first.isdigit():
            while end < len(text) and text[end].isdigit():
                end += 1
            kind = "number"
        elif first.isalpha():
            while end < len(text) and text[end].isalnum():
                end += 1
            kind = "name"
        else:
            kind = "operator"
        tokens.append((kind, text[at:end]))
        at = end
    return tokens


class Vector:
    """A value object with small methods, as programs are full of them."""

    @profile
    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y

    @profile
    def plus(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    @profile
    def dot(self, other: Vector) -> int:
        return self.x * other.x + self.y * other.y


@profile
def vectors(steps: int) -> int:
    place = Vector(0, 0)
    total = 0
    for step in range(steps):
        place = place.plus(Vector(step, 1))
        total += place.dot(place)
    return total


@profile
def queens(size: int, taken: tuple[int, ...] = ()) -> Iterator[int]:
    row = len(taken)
    if row == size:
        yield 1
        return
    for column in range(size):
        for other, place in enumerate(taken):
            if place == column or abs(place - column) == row - other:
                break
        else:
            yield from queens(size, (*taken, column))


@profile
def nbody(bodies: list[list[float]], steps: int) -> None:
    step = 0.01
    for _ in range(steps):
        for i, a in enumerate(bodies):
            for b in bodies[i + 1 :]:
                dx = a[0] - b[0]
                dy = a[1] - b[1]
                dz = a[2] - b[2]
                square = dx * dx + dy * dy + dz * dz + 0.01
                pull = step / (square * square**0.5)
                a[3] -= dx * pull
                a[4] -= dy * pull
                a[5] -= dz * pull
                b[3] += dx * pull
                b[4] += dy * pull
                b[5] += dz * pull
        for body in bodies:
            body[0] += step * body[3]
            body[1] += step * body[4]
            body[2] += step * body[5]


@profile
def words(text: str) -> tuple[str, int]:
    counts: dict[str, int] = {}
    for line in text.split("\n"):
        if not line:
            continue
        for word in line.split():
            key = word.lower()
            if key in counts:
                counts[key] += 1
            else:
                counts[key] = 1
    best = "", 0
    for key, count in counts.items():
        if count > best[1]:
            best = key, count
    return best


MATRIX = [[i * j % 7 for i in range(24)] for j in range(24)]
CODE = "alpha = beta1 + 1234 * (gamma - 7) / delta ; " * 25
TEXT = "the quick brown Fox jumps over the lazy Dog\n\n" * 60
BODIES = [[float(i), float(i * i % 5), float(i % 3), 0.0, 0.0, 0.0] for i in range(6)]

PROGRAMS = {
    "fib": lambda: fib(17),
    "matmul": lambda: matmul(MATRIX, MATRIX),
    "tokenize": lambda: tokenize(CODE),
    "vectors": lambda: vectors(800),
    "queens": lambda: sum(queens(6)),
    "nbody": lambda: nbody([list(body) for body in BODIES], 40),
    "words": lambda: words(TEXT),
}
