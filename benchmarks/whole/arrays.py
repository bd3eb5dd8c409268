"""Compute with arrays of many sizes, as numerical programs do."""

import numpy

total = 0.0
for n in range(1, 260):
    field = numpy.linspace(0, 1, 40 * n).reshape(-1, 40)
    smooth = (field[1:] + field[:-1]) / 2 if n > 1 else field
    product = smooth @ field.T[:, : len(smooth)]
    total += float(numpy.sqrt(numpy.abs(product)).sum())
    for row in field[:60]:
        total += float((row * 2 - row.mean()).max())
print(f"{total:.3f}")
