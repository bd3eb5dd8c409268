"""Write and read JSON documents."""

import json

people = [
    {"id": n, "name": f"person {n}", "tags": [f"tag{n % k}" for k in range(2, 8)], "note": "?!" * n}
    for n in range(1_200)
]
for _ in range(75):
    people = [json.loads(json.dumps(person)) for person in json.loads(json.dumps(people))]
print(len(people))
