"""Build text from small pieces, keep some of it, throw most away."""

kept = []
for chapter in range(60):
    rows = []
    for n in range(4_000):
        rows.append(f"{chapter}.{n}: {'x' * (n % 900)} {n * chapter:>12,}")
    text = "\n".join(rows)
    kept.append(text.replace("x", "yz")[: 20_000 + chapter])
    words = [row.split()[-1] for row in text.split("\n")]
print(sum(map(len, kept)), len(words))
