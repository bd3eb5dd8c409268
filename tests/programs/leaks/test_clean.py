"""Functions that do not leak, each with why it looks as if it did: `no_leaks` has to pass them."""

import asyncio
import collections
import contextlib
import ctypes
import dataclasses
import datetime
import functools
import gc
import io
import itertools
import json
import linecache
import logging
import logging.handlers
import pickle
import random
import re
import sqlite3
import sys
import tempfile
import threading
import typing
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import leaky
import pytest

pytestmark = pytest.mark.no_leaks()

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

numbers = itertools.count()
LAST = {}
WINDOW = {}
RECENT = collections.deque(maxlen=20)
FULL = collections.deque((bytes(100) for _ in range(30)), maxlen=30)


@functools.lru_cache(maxsize=None)
def squares(n):
    """Filled by the first call."""
    return [i * i for i in range(n)]


def test_lru_cache():
    """The same arguments each time."""
    assert squares(3000)[-1] == 2999**2


@functools.lru_cache(maxsize=50)
def texts(n):
    """Bounded."""
    return str(n) * 50


def test_bounded_lru_cache_with_new_arguments():
    """Grows with each of the first fifty calls."""
    texts(next(numbers))


@functools.lru_cache(maxsize=5000)
def many_texts(n):
    """Bounded, but not soon full."""
    return str(n) * 50


def test_large_lru_cache_with_new_arguments():
    """Grows at every call of the test, and is a cache all the same."""
    many_texts(next(numbers))


def test_regular_expressions():
    """re keeps what it has compiled."""
    assert re.compile(r"(?P<user>[a-z0-9._-]+)@(?P<host>([a-z0-9-]+\.)+[a-z]{2,12})").match("a@b.cd")


def test_regular_expression_new_at_each_call():
    """re keeps 512 of them."""
    assert re.match(f"a{{{next(numbers) % 1000}}}b?", "a" * 1000)


def test_import_at_first_call():
    """A module is loaded once."""
    import colorsys

    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_import_at_a_later_call():
    """Grows once, in the middle of the repeats."""
    calls = LAST["calls"] = LAST.get("calls", 0) + 1
    if calls > 4:
        import chunk_of_code  # noqa: F401


def test_interned_strings():
    """Interned once."""
    for n in range(20):
        sys.intern(f"interned name {n}")


def test_free_lists():
    """Floats, tuples, lists and dicts that the interpreter keeps for reuse."""
    for n in range(200):
        values = [n * 1.5, (n, n), [n], {n: n}]
        del values


def test_logging(caplog):
    """Records are kept by pytest until the phase ends."""
    with caplog.at_level(logging.DEBUG):
        for n in range(10):
            logging.getLogger("a.b.c").warning("message %d %s", n, "x" * 100)
    assert len(caplog.records) == 10


def test_logging_without_a_fixture():
    """pytest's own handlers take them all the same."""
    logging.getLogger("a.b.d").error("message of some length: %s", "y" * 200)


def test_memory_handler():
    """Flushes at its capacity."""
    handler.emit(logging.makeLogRecord({"msg": "z" * 100, "levelno": logging.INFO}))


handler = logging.handlers.MemoryHandler(40, target=logging.NullHandler())


def test_printing():
    """Captured output is pytest's."""
    print("a line of output" * 20)


def test_last_value_replaced():
    """One block lives, another one each time."""
    LAST["data"] = bytearray(1000)


def test_sliding_window():
    """The last ten are kept; the table of the dict is made anew now and then."""
    n = next(numbers)
    WINDOW[n] = bytes(300)
    WINDOW.pop(n - 10, None)


def test_deque_with_a_bound():
    """Full after twenty calls."""
    RECENT.append(bytes(200))


def test_deque_that_was_full_before():
    """What goes was there before the test, what comes is new."""
    FULL.append(bytes(100))


def test_cycles():
    """Garbage for the collector."""
    for _ in range(20):
        one = []
        one.append(one)


def test_collector_switched_off():
    """The cycles of a test that has switched the collector off."""
    gc.disable()
    try:
        one = {}
        one["me"] = one
        one["data"] = bytes(1000)
    finally:
        gc.enable()


def test_another_threads_work(busy_thread):
    """A thread that runs before, during and after the test, and grows."""
    assert busy_thread.is_alive()
    sum(range(1000))


@pytest.fixture(scope="module")
def busy_thread():
    """Keep something new every millisecond."""
    kept, stop = [], threading.Event()

    def work():
        while not stop.wait(0.0005):
            kept.append(bytes(100))

    thread = threading.Thread(target=work, name="busy")
    thread.start()
    yield thread
    stop.set()
    thread.join()


def test_threads():
    """Started and joined."""
    threads = [threading.Thread(target=sum, args=[range(100)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_pool_for_one_call():
    """Its threads end with it."""
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(len, ["a", "bc"])) == [1, 2]


def test_event_loop():
    """A loop with its selector, tasks and contexts."""

    async def work():
        await asyncio.gather(*(asyncio.sleep(0) for _ in range(5)))

    asyncio.run(work())


def test_malloc_and_free():
    """What C gives back."""
    libc.free(libc.malloc(5000))


def test_cache_of_a_c_library():
    """Ten blocks, filled by the first ten calls."""
    leaky.ten_blocks()


def test_extension_that_counts_right():
    """As many references given back as taken."""
    leaky.list_with_decref(1)


def test_exceptions():
    """Raised and caught, with frames in a cycle."""
    try:
        raise ValueError("x" * 100)
    except ValueError as error:
        kept = error
        assert kept.__traceback__ is not None


def test_generator_given_up():
    """Closed when it goes."""
    generator = (bytes(100) for _ in range(10))
    next(generator)


def test_fixture_that_is_filled(basket):
    """The list goes with the fixture, and each run has its own."""
    basket.append(bytearray(500))
    assert len(basket) == 1


@pytest.fixture
def basket():
    """A new list."""
    return []


def test_not_twice_in_one_folder(tmp_path):
    """Fails when a run gets the folder of another."""
    (tmp_path / "once").mkdir()


def test_class_made_at_each_call():
    """A class is a cycle; the collector takes it."""

    @dataclasses.dataclass
    class Point:
        x: int = 0

    assert Point() == Point()


def test_named_tuple_made_at_each_call():
    """Made by eval."""
    assert collections.namedtuple("Pair", "a b")(1, 2).b == 2


def test_compiled_code():
    """Code objects come and go."""
    exec(compile(f"value = {next(numbers)} * 2", "<made>", "exec"), {})


def test_dates():
    """Imports a module late, and keeps the pattern."""
    assert datetime.datetime.strptime("2024-05-06", "%Y-%m-%d").day == 6


def test_codecs():
    """A codec is looked up once."""
    assert "bücher.example".encode("idna") == b"xn--bcher-kva.example"


def test_typing():
    """Caches of generic types."""
    assert typing.Optional[dict[str, int]] is not None
    assert typing.get_type_hints(test_dates) == {}


def test_source_lines():
    """linecache keeps files."""
    assert linecache.getline(logging.__file__, 1)


def test_warnings():
    """Caught, with a registry in the module."""
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        warnings.warn(f"warning {next(numbers)}", stacklevel=1)


def test_json_and_pickle():
    """Memos and encoders."""
    data = {"a": list(range(50)), "b": "text"}
    assert json.loads(json.dumps(data)) == pickle.loads(pickle.dumps(data)) == data


def test_database():
    """sqlite keeps pages while it is open."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("create table t (a, b)")
        db.executemany("insert into t values (?, ?)", [(n, "x" * 50) for n in range(50)])


def test_files():
    """Buffers that go with their file."""
    with tempfile.TemporaryFile("w+") as file:
        file.write("x" * 5000)
    assert io.StringIO("a\nb").read() == "a\nb"


class Thing:
    """Something that can be referred to weakly."""


WEAK = weakref.WeakValueDictionary()


def test_weak_values():
    """Entries go with what they refer to."""
    thing = Thing()
    WEAK[next(numbers)] = thing


def test_random_sizes():
    """A block of another size each time."""
    LAST["random"] = bytes(random.randrange(100, 5000))


def test_sizes_that_grow_and_shrink():
    """Larger for some calls in a row, then small again."""
    LAST["wave"] = bytes(100 * (1 + next(numbers) % 4))


@pytest.mark.parametrize("size", [10, 1000])
def test_parameters(size):
    """Each is a test of its own."""
    assert len(bytes(size)) == size
