"""Modules that do something for a program: tasks, commands, logs, files, tests."""

from __future__ import annotations

SERVICES = {
    "argparse": """
parser = m.ArgumentParser(prog="x", description="d " * 50, exit_on_error=True)
parser.add_argument("-a", type=int, help="h")
parser.add_argument("b", nargs="*")
group = parser.add_mutually_exclusive_group()
group.add_argument("--c", action="store_true")
group.add_argument("--d", action="append")
for words in ("-a 3 q --c", "--d 1 --d=2", "-a x", "--zz", "--c --d 1", "-a"):
    try:
        parser.parse_args(words.split())
    except SystemExit:
        pass
parser.format_help()
""",
    "asyncio.queues": """
import asyncio
async def fill(queue):
    for i in range(9):
        await queue.put(i)
async def drain(queue):
    for i in range(9):
        await queue.get()
        queue.task_done()
async def main():
    queue = m.Queue(2)
    await asyncio.gather(fill(queue), drain(queue))
    await queue.join()
    for kind in (m.PriorityQueue, m.LifoQueue):
        queue = kind()
        for i in (3, 1, 2):
            queue.put_nowait(i)
        while not queue.empty():
            await queue.get()
        try:
            queue.get_nowait()
        except m.QueueEmpty:
            pass
asyncio.run(main())
""",
    "asyncio.taskgroups": """
import asyncio
async def work(n):
    for _ in range(n):
        await asyncio.sleep(0)
    if n == 3:
        raise ValueError(n)
    return n
async def main():
    async with m.TaskGroup() as group:
        tasks = [group.create_task(work(n)) for n in (1, 2, 4)]
    try:
        async with m.TaskGroup() as group:
            for n in (1, 3, 50):
                group.create_task(work(n))
    except* ValueError:
        pass
asyncio.run(main())
""",
    "cmd": """
import io
class Shell(m.Cmd):
    use_rawinput = False
    def do_greet(self, line):
        "Greet somebody."
        print("hi", line, file=self.stdout)
    def do_EOF(self, line):
        return True
words = io.StringIO("greet you\\nhelp greet\\nhelp\\n\\nnothing\\n")
Shell(stdin=words, stdout=io.StringIO()).cmdloop()
""",
    "contextlib": """
import asyncio
@m.contextmanager
def managed():
    try:
        yield 1
    except ValueError:
        pass
for i in range(5):
    with managed():
        pass
    with managed():
        raise ValueError
for error in (KeyError, StopIteration, RuntimeError):
    try:
        with managed():
            raise error
    except error:
        pass
with m.ExitStack() as stack:
    stack.enter_context(managed())
    stack.callback(len, "x")
    stack.push(lambda *e: True)
    raise OSError
with m.suppress(OSError), m.nullcontext():
    raise OSError
@m.asynccontextmanager
async def async_managed():
    try:
        yield 2
    finally:
        await asyncio.sleep(0)
async def main():
    async with async_managed():
        await asyncio.sleep(0)
    try:
        async with async_managed():
            raise KeyError
    except KeyError:
        pass
    async with m.AsyncExitStack() as stack:
        await stack.enter_async_context(async_managed())
asyncio.run(main())
""",
    # A record looks whether the clock shows the last millisecond of a second: a clock that stands.
    "logging": """
import io, types
clock = m.time
m.time = types.SimpleNamespace(time=lambda: 1e9 + 0.25, time_ns=lambda: 10**18 + 250_000_000)
handler = m.StreamHandler(io.StringIO())
handler.setFormatter(m.Formatter("%(levelname)s %(message)s"))
logger = m.getLogger("exactness")
logger.addHandler(handler), logger.setLevel(m.INFO)
for i in range(20):
    logger.info("n %d", i), logger.debug("no")
try:
    1 / 0
except ZeroDivisionError:
    logger.exception("oops")
logger.warning("%d", "x")
logger.removeHandler(handler)
m.time = clock
""",
    "sched": """
class Clock:
    now = 0
    def time(self):
        return self.now
    def sleep(self, n):
        self.now += n
clock = Clock()
scheduler = m.scheduler(clock.time, clock.sleep)
for n in (3, 1, 2):
    event = scheduler.enter(n, n, lambda: None)
scheduler.cancel(event), scheduler.run()
try:
    scheduler.cancel(event)
except ValueError:
    pass
""",
    "tempfile": """
with m.TemporaryDirectory() as folder:
    with m.NamedTemporaryFile(dir=folder) as file:
        file.write(b"x")
    with m.SpooledTemporaryFile(max_size=3) as file:
        file.write(b"x" * 9), file.seek(0), list(file)
try:
    m.mkstemp(prefix="x", suffix=b"y")
except TypeError:
    pass
""",
    "unittest.case": """
import unittest
class Test(m.TestCase):
    def test_passes(self):
        for i in range(4):
            with self.subTest(i=i):
                self.assertEqual(i % 3, i % 3)
        with self.assertRaises(ValueError):
            int("x")
        self.assertRaisesRegex(KeyError, "k", {}.__getitem__, "k")
    def test_fails(self):
        self.assertEqual([1, 2, {3: 4}], [1, 2, {3: 5}])
    def test_breaks(self):
        1 / 0
    def test_skips(self):
        self.skipTest("no")
    @m.expectedFailure
    def test_expected(self):
        self.assertIn(1, [2])
for name in ("passes", "fails", "breaks", "skips", "expected"):
    Test("test_" + name).run(unittest.TestResult())
""",
    "zipfile": """
import io
buffer = io.BytesIO()
with m.ZipFile(buffer, "w", m.ZIP_DEFLATED) as file:
    file.writestr("a.txt", "x" * 999), file.writestr("d/b.txt", b"y")
with m.ZipFile(buffer) as file:
    file.read("a.txt"), file.namelist(), file.testzip(), list(file.open("d/b.txt"))
    try:
        file.getinfo("no")
    except KeyError:
        pass
for bad in (b"", b"PK" * 50):
    try:
        m.ZipFile(io.BytesIO(bad))
    except m.BadZipFile:
        pass
""",
}
