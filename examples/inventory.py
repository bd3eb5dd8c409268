"""Add up a shop's orders that arrive as JSON: a memory problem."""

import json

from proftrace import profile


def receive(orders):
    """Return one JSON document, as a shop's service would send it."""
    items = [{"sku": f"SKU-{n % 500:04}", "amount": n % 5 + 1} for n in range(orders)]
    return json.dumps({"orders": items})


@profile
def load(text):
    return json.loads(text)["orders"]


@profile
def group(orders):
    by_sku = {}
    for order in orders:
        by_sku.setdefault(order["sku"], []).append(order)
    return by_sku


@profile
def total(by_sku):
    return {sku: sum(order["amount"] for order in orders) for sku, orders in by_sku.items()}


if __name__ == "__main__":
    history = []
    for day in range(3):
        orders = load(receive(20_000 + 5_000 * day))
        history.append(orders)
        totals = total(group(orders))
        print(f"day {day}: {len(orders)} orders, {sum(totals.values())} pieces")
