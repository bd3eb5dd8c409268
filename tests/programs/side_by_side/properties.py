import builtins; profile = getattr(builtins, "profile", lambda thing: thing)
from functools import cached_property, partial, partialmethod

class Circle:
    def __init__(self, radius):
        self._radius = radius

    @profile
    @property
    def radius(self):
        return self._radius         # HITS: 4

    @radius.setter
    @profile
    def radius(self, value):
        self._radius = value        # HITS: 2

    @profile
    @cached_property
    def area(self):
        return 3 * self.radius ** 2     # HITS: 1

    def scale(self, factor, by):
        self.radius = self.radius * factor * by     # HITS: 2

    twice = profile(partialmethod(scale, 2))

circle = Circle(1)
circle.twice(1), circle.twice(3)
print(circle.radius, circle.area, circle.area)
