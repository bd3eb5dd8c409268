"""Looks at frames in every way there is, around allocations: prints the same, traced or not."""

import builtins
import gc
import inspect
import sys
import traceback

seen = []
original_import = builtins.__import__


def recording_import(name, globals=None, locals=None, fromlist=(), level=0):
    seen.append((name, type(locals).__name__))
    return original_import(name, globals, locals, fromlist, level)


def views(depth, value):
    block = bytes(3000)
    frame = sys._getframe()
    if depth:
        return views(depth - 1, value * 2)
    frame.f_locals
    block = bytes(3000)
    return sorted(frame.f_locals), sorted(locals()), sorted(frame.f_back.f_locals), len(block)


def kept_frame():
    name = bytes(2000)
    inner = [bytes(1000) for _ in range(3)]
    return sys._getframe(), len(name), len(inner)


def generator(n):
    block = bytes(1500)
    for i in range(n):
        yield sorted(locals()), len(block)
        block = bytes(1500 + i)


def importer():
    block = bytes(4000)
    import json.decoder

    import string as text

    return json.decoder.__name__, text.__name__, len(block)


def failing(n):
    block = bytes(2500)
    if n == 0:
        raise ValueError(len(block))
    failing(n - 1)


def evaluate(code):
    block = bytes(1000)
    inside = {"a": 1}
    exec(code, {"bytes": bytes}, inside)
    return sorted(inside), eval("len(block)"), sorted(inside)


class Body:
    block = bytes(2000)
    names = sorted(name for name in locals() if not name.startswith("__"))


async def coroutine():
    block = bytes(1200)
    return sorted(locals()), len(block)


print(views(5, 1))
frame, *rest = kept_frame()
print(sorted(frame.f_locals), rest, frame.f_back.f_code.co_name)
frame.clear()
print(sorted(frame.f_locals))
made = generator(3)
print(next(made), sorted(made.gi_frame.f_locals), list(made), made.gi_frame)
builtins.__import__ = recording_import
print(importer())
builtins.__import__ = original_import
print([row for row in seen if row[0] in ("json.decoder", "string")])
try:
    failing(4)
except ValueError as error:
    tb = error.__traceback__
    print([sorted(f.f_locals) for f, _ in traceback.walk_tb(tb)][1:], error)
    print(len(inspect.getinnerframes(tb)))
print(evaluate("block = bytes(2000)\nb = 2"))
print(evaluate((lambda: bytes(2000)).__code__))
print(Body.names)
running = coroutine()
try:
    running.send(None)
except StopIteration as stop:
    print(stop.value)
print(sys.getrefcount(None) == sys.getrefcount(None), gc.collect() >= 0)
