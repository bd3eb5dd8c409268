"""Functions that leak, each with the reason: `no_leaks` has to fail every one of them."""

import atexit
import ctypes
import functools
import itertools
import logging
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import leaky
import pytest

pytestmark = pytest.mark.no_leaks()

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.realloc.restype = ctypes.c_void_p
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

KEEP = []
BY_KEY = {}
SEEN = set()
TEXT = bytearray()
SLOTS = [None] * 100_000
PAIRS = [None] * 100_000
numbers = itertools.count()
never = threading.Event()
local = threading.local()
pool = ThreadPoolExecutor(1)


def test_list_grows():
    """A list that nobody empties."""
    KEEP.append(bytearray(100))


def test_list_of_small_objects_grows():
    """16 bytes a call: the smallest object there is."""
    SLOTS[next(numbers)] = object()


def test_dict_grows():
    """A cache without a bound: a new key with each call."""
    BY_KEY[f"key {next(numbers)}"] = [0] * 10


KNOWN = [object() for _ in range(20_000)]


def test_table_of_a_set_grows():
    """What it holds is there already; only the table grows, whenever it is full."""
    SEEN.update(KNOWN[len(SEEN) : len(SEEN) + 5])


def test_bytearray_grows():
    """One block, grown by steps that become wider: not at every call."""
    TEXT.extend(b"a line of a log that is kept in memory\n")


def test_malloc_without_free():
    """C memory that Python knows nothing of."""
    assert libc.malloc(48)


def test_realloc_grows():
    """One block of C, made larger with every call."""
    leaky.growing_table()


def test_float_without_decref():
    """A missing Py_DECREF; the float comes from the free list, so nothing is allocated."""
    waste = [n * 1.5 for n in range(50)]
    del waste
    leaky.float_without_decref(3.25)


def test_bytes_without_decref():
    """A missing Py_DECREF after PyList_Append."""
    leaky.list_without_decref(1)


def test_incref():
    """One reference too many."""
    block = bytes([next(numbers) % 256]) * 300
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(block))


class Handle:
    """A cycle that owns memory of C and does not free it when it is collected."""

    def __init__(self):
        self.me = self
        self.block = libc.malloc(200)


def test_cycle_with_a_resource():
    """The collector takes the object and not what it stands for."""
    Handle()


class Risen:
    """Comes back to life when it is collected."""

    def __init__(self):
        self.me = self

    def __del__(self):
        KEEP.append(self)


def test_finalizer_that_keeps_the_object():
    """Collected, and kept by its own finalizer."""
    Risen()


def test_thread_local():
    """Data of a pool's thread, which does not end."""

    def work():
        if not hasattr(local, "items"):
            local.items = []
        local.items.append(bytes(200))

    pool.submit(work).result()


def test_generator_kept_alive():
    """A suspended generator with its frame and locals."""

    def produce():
        data = list(range(1000, 1020))
        yield data

    generator = produce()
    next(generator)
    KEEP.append(generator)


def test_ctypes_buffer():
    """A buffer that is never given back."""
    KEEP.append(ctypes.create_string_buffer(64))


def test_callback_registered_at_each_call():
    """atexit keeps the function, the function keeps the data."""
    data = bytes(500)
    atexit.register(lambda: len(data))


def test_handler_added_at_each_call():
    """Every log handler stays with its logger."""
    logging.getLogger("leaks").addHandler(logging.NullHandler())


def test_logger_for_each_request():
    """Loggers are kept by their name for good."""
    logging.getLogger(f"request.{next(numbers)}")


@functools.lru_cache(maxsize=None)
def squares(n):
    """A cache without a bound."""
    return [i * i for i in range(n, n + 10)]


def test_unbounded_lru_cache():
    """A new argument with each call."""
    squares(1000 + next(numbers))


def test_exception_kept():
    """Its traceback keeps the frames, the frames their locals."""

    def fail():
        data = bytes(400)
        raise ValueError(len(data))

    try:
        fail()
    except ValueError as error:
        KEEP.append(error)


def test_thread_that_never_ends():
    """Waits for something that does not come."""
    threading.Thread(target=never.wait, daemon=True).start()


class Node:
    """A key that its own value refers to."""


WEAK = weakref.WeakKeyDictionary()


def test_weak_dict_with_values_that_refer_to_the_key():
    """The value keeps the key alive, for as long as the dict lives."""
    node = Node()
    WEAK[node] = [node]


def test_class_kept_in_a_registry():
    """Classes kept in a registry."""
    KEEP.append(type("Model", (), {"n": next(numbers)}))


def test_pointer_type_of_a_new_class():
    """ctypes.POINTER caches by class, for ever."""
    fields = [("n", ctypes.c_int)]
    ctypes.POINTER(type("Struct", (ctypes.Structure,), {"_fields_": fields}))


def test_leak_on_every_other_path():
    """Half of the calls leak here, half there."""
    if next(numbers) % 2:
        KEEP.append(bytes(150))
    else:
        KEEP.append(bytes(250))


def test_tuples_in_place_of_freed_ones():
    """The free list of tuples gives what is leaked."""
    n = next(numbers)
    waste = [(n, i) for i in range(30)]
    del waste
    PAIRS[n] = (n, None)
