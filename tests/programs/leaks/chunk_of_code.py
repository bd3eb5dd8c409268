VALUE = list(range(1000, 2000))
