"""What the self-check of the block counters runs (exactness.py); does the same at each run."""

from __future__ import annotations

WORKLOADS = {
    "_pydatetime": """
start = m.datetime(2024, 2, 29, 1, 2, 3, 4)
days = [str(start + m.timedelta(days=i, seconds=i * 7)) for i in range(60)]
start.isoformat(), m.datetime.fromisoformat("2024-01-02T03:04:05"), start.strftime("%Y %j %z")
zone = m.timezone(m.timedelta(hours=2))
start.replace(tzinfo=zone).astimezone(m.timezone.utc).isocalendar()
for bad in ((2023, 2, 29), (0, 1, 1), (2024, 13, 1)):
    try:
        m.date(*bad)
    except ValueError:
        pass
""",
    "_pydecimal": """
total = m.Decimal(1)
for i in range(1, 20):
    total = total * m.Decimal(i) / m.Decimal(i + 3) + m.Decimal("0.1")
    total.sqrt(), total.quantize(m.Decimal("0.01")), str(total), total.ln()
m.Decimal("1e5").exp(), f"{m.Decimal('1234.5'):,.2f}", m.Decimal(2) ** m.Decimal("0.5")
for bad in ("Decimal('x')", "Decimal(1) / Decimal(0)", "Decimal('sNaN') + 1", "Decimal(-1).sqrt()"):
    try:
        eval(bad, vars(m))
    except (ArithmeticError, ValueError):
        pass
""",
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
    "ast": """
text = open(m.__file__, encoding="utf-8").read()[:9000].rsplit("\\ndef", 1)[0]
tree = m.parse(text)
m.unparse(tree), m.dump(tree, indent=1), len(list(m.walk(tree))), m.literal_eval("[1, {2: (3,)}]")
m.unparse(m.parse('''def f(a, *b, c=1):
    with x as y, z: return [i for i in (1, 2) if i]
    try: pass
    except A as e: raise
    finally: q = f'{a!r:>{w}}'
match x:
    case [1, *_]: pass'''))
for bad in ("f()", "1 + x", "[x]"):
    try:
        m.literal_eval(bad)
    except ValueError:
        pass
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
    "base64": """
data = bytes(range(256)) * 2
for name in ("b16", "b32", "b64", "b85", "a85"):
    coded = getattr(m, name + "encode")(data)
    getattr(m, name + "decode")(coded)
for bad in (b"\\xff", b"abc"):
    try:
        m.b32decode(bad)
    except ValueError:
        pass
""",
    "bisect": """
m.insort_left = [(m.insort([1, 3, 5], i), m.bisect([1, 3, 5], i)) for i in range(7)]
""",
    "calendar": """
m.TextCalendar().formatyear(2024), m.HTMLCalendar().formatmonth(2024, 2)
try:
    m.monthrange(2024, 13)
except m.IllegalMonthError:
    pass
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
    "collections": """
Point = m.namedtuple("Point", "x y", defaults=[3])
Point(1)._replace(x=2)._asdict()
for bad in ("a a", "class", "_x"):
    try:
        m.namedtuple("P", bad)
    except ValueError:
        pass
chain = m.ChainMap({1: 2}, {3: 4})
chain[3], chain.new_child({5: 6}).maps, dict(chain)
for key in (7, 8):
    try:
        chain[key]
    except KeyError:
        pass
counts = m.Counter("mississippi")
counts.most_common(2), counts + counts, counts & m.Counter("miss"), list(counts.elements())
ordered = m.UserDict(a=1)
ordered["b"] = 2
m.UserList([3, 1, 2]).sort(), m.UserString("abc").upper()
""",
    "configparser": """
import io
config = m.ConfigParser()
config.read_string("[a]\\nx=1\\ny=%(x)s2\\n[b]\\nz: 3\\n  more\\n")
config.get("a", "y"), config.getint("a", "x"), config.sections(), config.write(io.StringIO())
for call in ("get('a', 'no')", "get('no', 'x')", "getint('b', 'z')", "read_string('junk')",
             "add_section('a')", "read_string('[a]\\\\nx=1\\\\nx=2')"):
    try:
        eval("config." + call)
    except (m.Error, ValueError):
        pass
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
    "copy": """
import types
shared = [1, {2: (3, [4])}]
m.deepcopy({"a": shared, "b": shared}), m.copy(shared), m.deepcopy(types.SimpleNamespace(x=[1]))
class Odd:
    __reduce_ex__ = None
for thing in (Odd(), open(__import__("os").devnull)):
    try:
        m.deepcopy(thing)
    except TypeError:
        pass
""",
    "csv": """
import io
list(m.DictReader(io.StringIO("a,b\\n1,2\\n3,4,5\\n6\\n")))
m.Sniffer().sniff("a;b\\n1;2\\n3;4\\n"), m.Sniffer().has_header("a,b\\n1,2\\n3,4\\n")
writer = m.DictWriter(io.StringIO(), ["a", "b"])
writer.writeheader(), writer.writerow({"a": 1})
for call in ("writer.writerow({'c': 1})", "m.Sniffer().sniff('abc')"):
    try:
        eval(call)
    except (ValueError, m.Error):
        pass
""",
    "dataclasses": """
Row = m.make_dataclass("Row", [("x", int), ("y", int, m.field(default=3))], order=True)
repr(Row(1)), Row(1) < Row(2), m.asdict(Row(1)), m.replace(Row(1), y=5), m.astuple(Row(2))
@m.dataclass(frozen=True, slots=True, kw_only=True)
class Cold:
    a: int
    b: list = m.field(default_factory=list, repr=False)
    c: m.InitVar[int] = 0
    def __post_init__(self, c):
        object.__setattr__(self, "a", self.a + c)
row = Cold(a=1, c=2)
for bad in ("row.__setattr__('a', 1)", "Cold(1)", "m.fields(3)", "m.asdict(3)"):
    try:
        eval(bad)
    except (AttributeError, TypeError):
        pass
""",
    "difflib": """
list(m.unified_diff([str(i % 7) for i in range(60)], [str(i % 5) for i in range(60)]))
m.get_close_matches("appel", ["ape", "apple", "peach"])
m.SequenceMatcher(None, "abcd" * 9, "bcda" * 8).ratio()
list(m.ndiff("a\\nbc\\nd\\n".splitlines(True), "a\\nbd\\ne\\n".splitlines(True)))
m.HtmlDiff().make_table(["a", "b"], ["a", "c"])
""",
    "email.feedparser": """
from email import message_from_string
parser = m.FeedParser()
parser.feed("From: a@b\\nTo: c\\nContent-Type: multipart/mixed; boundary=x\\n\\n")
parser.feed("pre\\n--x\\n\\nbody\\n")
parser.feed("--x\\nContent-Type: text/plain\\n\\nmore\\n--x--\\npost\\n")
parser.close().as_string()
message_from_string("broken\\n header\\n\\nbody").defects
""",
    "email.header": """
m.decode_header("=?utf-8?q?caf=C3=A9?= au =?iso-8859-1?b?bGFpdA==?=")
str(m.make_header([("abc", None), (b"\\xe9", "latin-1")])), m.Header("\\xe9" * 90, "utf-8").encode()
try:
    m.decode_header("=?utf-8?b?a?=")
except m.HeaderParseError:
    pass
""",
    "enum": """
Color = m.Enum("Color", "red green blue")
Color["red"], Color(2), list(Color), repr(Color.red)
Access = m.Flag("Access", "read write run")
repr(Access.read | Access.run), ~Access.read, Access(3)
class Planet(m.IntEnum):
    EARTH = m.auto()
    MARS = m.auto()
for bad in ("Color(9)", "Color['x']", "Access(99)", "m.unique(m.Enum('A', dict(a=1, b=1)))"):
    try:
        eval(bad)
    except (KeyError, ValueError):
        pass
""",
    "fnmatch": """
m.filter(["a.py", "b.c", "[x]"], "*.py"), m.translate("[!a-c]?*[]x"), m.fnmatchcase("ab", "a[b]")
""",
    "fractions": """
total = m.Fraction(0)
for i in range(1, 60):
    total += m.Fraction(1, i)
    total *= m.Fraction(i, i + 1)
m.Fraction("3/7"), m.Fraction.from_float(0.25), round(m.Fraction(7, 3)), f"{total:.5f}"
m.Fraction(22, 7).limit_denominator(5), m.Fraction(1, 3) < 0.5, m.Fraction(4, 9) ** 0.5
for bad in (("x",), (1, 0), (1.5, 2)):
    try:
        m.Fraction(*bad)
    except (ValueError, ZeroDivisionError, TypeError):
        pass
""",
    "functools": """
@m.lru_cache(maxsize=8)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(20)
@m.singledispatch
def show(thing):
    return "?"
@show.register
def _(thing: int):
    return thing
show(3), show("x"), m.reduce(lambda a, b: a + b, range(9))
@m.total_ordering
class Sized:
    def __init__(self, n):
        self.n = n
    def __lt__(self, other):
        return self.n < other.n
    def __eq__(self, other):
        return self.n == other.n
    @m.cached_property
    def double(self):
        return self.n * 2
Sized(1) <= Sized(2), Sized(1) >= Sized(2), Sized(3).double
m.partialmethod(len).func, sorted([3, 1, 2], key=m.cmp_to_key(lambda a, b: a - b))
try:
    show.register(3)
except TypeError:
    pass
""",
    "gettext": """
m.c2py("n == 1 ? 0 : n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 10 || n % 100 >= 20) ? 1 : 2")(5)
for bad in ("n $ 1", "n ==", "n" * 1001, "(" * 30 + "n" + ")" * 30):
    try:
        m.c2py(bad)
    except ValueError:
        pass
""",
    "graphlib": """
list(m.TopologicalSorter({1: [2, 3], 2: [4], 3: [4]}).static_order())
try:
    list(m.TopologicalSorter({1: [2], 2: [1]}).static_order())
except m.CycleError:
    pass
""",
    "heapq": """
heap = []
for i in range(80):
    m.heappush(heap, (i * 37) % 41)
[m.heappop(heap) for _ in range(40)], m.nsmallest(5, range(50)), m.nlargest(3, range(9), key=abs)
list(m.merge([1, 4], [2, 3], [0])), list(m.merge([3, 1], [2], key=abs, reverse=True))
""",
    "html.parser": """
class Parser(m.HTMLParser):
    def handle_starttag(self, tag, attrs):
        self.last = dict(attrs)
Parser().feed("<a href=x b>y &amp; z &#65;<!-- c --><br/><script>1<2</script><?p?><!D>" * 9)
""",
    "inspect": """
def sample(a, /, b: int = 1, *c, d, e=2, **f) -> str:
    "Do."
signature = m.signature(sample)
str(signature), signature.bind(1, 2, 3, d=4).apply_defaults(), m.getdoc(sample)
for words in ((), (1,)):
    try:
        signature.bind(*words)
    except TypeError:
        pass
m.getsource(m.signature)[:10], m.getmembers(signature), m.getmro(int), m.isgeneratorfunction(sample)
""",
    "ipaddress": """
list(m.ip_network("10.0.0.0/28").hosts()), m.ip_address("::1"), m.ip_address("fe80::1%eth0")
list(m.collapse_addresses([m.ip_network("10.0.0.0/25"), m.ip_network("10.0.0.128/25")]))
list(m.ip_network("10.0.0.0/24").address_exclude(m.ip_network("10.0.0.64/26")))
for bad in ("1.2.3", "1.2.3.4/40", "::g", "1::2::3", "01.2.3.4", "1.2.3.256"):
    for make in (m.ip_address, m.ip_network):
        try:
            make(bad)
        except ValueError:
            pass
""",
    "json.decoder": """
from json.scanner import py_make_scanner
decoder = m.JSONDecoder()
decoder.parse_string = m.py_scanstring
decoder.parse_object, decoder.scan_once = m.JSONObject, py_make_scanner(decoder)
decoder.decode('{"a": [1, 2.5, null, true, "x\\\\u00e9\\\\n"], "b": {"c": {}}}')
for bad in ('{"a":}', "[1", '"x', "nul", '{"a" 1}', "[1,]", '"\\\\x"', "{1: 2}"):
    try:
        decoder.decode(bad)
    except ValueError:
        pass
""",
    "json.encoder": """
m.c_make_encoder = None
m.JSONEncoder(indent=1, sort_keys=True).encode({"a": [1, 2.5, None, True, "x"], "b": {}})
m.JSONEncoder().encode([{"n": i, "t": str(i)} for i in range(40)])
for bad in (object(), float("nan"), {(1, 2): 3}):
    try:
        m.JSONEncoder(allow_nan=False).encode(bad)
    except (TypeError, ValueError):
        pass
""",
    "logging": """
import io
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
""",
    "pickle": """
import io
class Point:
    def __init__(self, x):
        self.x = x
def dump(thing, protocol):
    file = io.BytesIO()
    m._Pickler(file, protocol).dump(thing)
    return file.getvalue()
value = {"a": [1, 2.5, None, True, "x", b"y", (1, 2), {3}, 10**30], "e": ValueError(1)}
for protocol in range(5):
    m._Unpickler(io.BytesIO(dump(value, protocol))).load()
for bad in (b"", b"\\x80\\x09.", b"cnothing\\nx\\n.", b"."):
    try:
        m._Unpickler(io.BytesIO(bad)).load()
    except (EOFError, ValueError, ImportError, IndexError, m.UnpicklingError):
        pass
try:
    dump(lambda: 0, 4)
except (m.PicklingError, AttributeError):
    pass
""",
    "pprint": """
m.pformat({i: list(range(i)) for i in range(20)}, width=40)
m.pformat([("a" * 30,) * 5, {1, 2, 3}, b"x" * 200]), m.pformat({"z": {"y": [1] * 60}}, compact=True)
""",
    "random": """
source = m.Random(1)
[source.gauss(0, 1) for _ in range(9)], source.sample(range(50), 9), source.choices([1, 2], k=5)
source.shuffle(list(range(20))), source.triangular(), source.randrange(5), source.betavariate(2, 3)
source.expovariate(1), source.vonmisesvariate(0, 4), source.gammavariate(2, 1), source.uniform(1, 2)
for bad in ("randrange(0)", "sample([1], 2)", "choice([])", "choices([1], [1, 2])"):
    try:
        eval("source." + bad)
    except (ValueError, IndexError):
        pass
""",
    "re._parser": """
for pattern in (r"(?P<a>x+|[^a-z\\\\d]{2,3}?)(?=y)(?:z)*\\\\b", r"(?i:a)(?(1)b|c)" , r"(a)\\\\1.$"):
    try:
        m.parse(pattern)
    except m.error:
        pass
for bad in ("(", ")", "[a", "a{3,2}", "*a", "(?P<1>x)", "\\\\", "(?z)", "(?<=a*)b",
            "[z-a]", "(?P=x)"):
    try:
        m.parse(bad)
    except m.error:
        pass
""",
    "reprlib": """
m.repr([[[[[[[1]]]]]]] * 9), m.repr("x" * 99), m.repr({i: i for i in range(9)}), m.repr(10**99)
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
    "shlex": """
m.split("a 'b c' \\"d e\\" f\\\\ g # h", comments=True), m.quote("a'b"), m.join(["a b", "c"])
list(m.shlex("a && b|c", punctuation_chars=True))
for bad in ("'x", '"x', "x\\\\"):
    try:
        m.split(bad)
    except ValueError:
        pass
""",
    "statistics": """
data = [(i * 37) % 101 / 7 for i in range(60)]
m.mean(data), m.stdev(data), m.median(data), m.quantiles(data), m.mode([1, 1, 2]), m.fmean(data)
m.NormalDist.from_samples(data).cdf(3), m.linear_regression(data, data[::-1]), m.multimode("aab")
for bad in ("mean([])", "stdev([1])", "mode([])", "quantiles([1])", "correlation([1], [2])"):
    try:
        eval("m." + bad)
    except m.StatisticsError:
        pass
""",
    "string": """
m.Template("$a ${b} $$").safe_substitute(a=1), m.Formatter().format("{0:>{1}} {x!r}", 1, 5, x=2)
m.capwords("a b")
for bad in ("$", "${", "$x"):
    try:
        m.Template(bad).substitute()
    except (KeyError, ValueError):
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
    "textwrap": """
m.wrap("the quick brown fox " * 40, 37), m.dedent("  a\\n    b\\n  c"), m.shorten("hello " * 20, 30)
m.indent("a\\nb", "  "), m.fill("x" * 200, 20, initial_indent="* "), m.wrap("a-b " * 30, 7)
try:
    m.wrap("x", 0)
except ValueError:
    pass
""",
    "tokenize": """
import io
text = "def f(x, *y):\\n  return x+1 # c\\n" * 9 + "s = f'{a!r:>{w}}'\\nt = '''x\\ny'''\\n"
m.untokenize(list(m.generate_tokens(io.StringIO(text).readline)))
for bad in ("'''x", "(1", "  a\\n b\\n"):
    try:
        list(m.generate_tokens(io.StringIO(bad).readline))
    except (m.TokenError, SyntaxError):
        pass
""",
    "traceback": """
def fail(n):
    if n:
        fail(n - 1)
    raise ValueError(n) from KeyError("k")
try:
    fail(5)
except ValueError as error:
    m.format_exception(error), m.TracebackException.from_exception(error).stack
    m.format_list(m.extract_tb(error.__traceback__, 2))
""",
    "typing": """
T = m.TypeVar("T")
class Box(m.Generic[T]):
    value: T
Box[int], m.Union[int, str, None], m.Optional[m.List[int]], m.get_type_hints(Box)
class Named(m.Protocol):
    name: str
@m.runtime_checkable
class Runs(m.Protocol):
    def run(self): ...
isinstance(Box(), Runs), m.NamedTuple("P", [("x", int)])(1)
for bad in ("Box[int, str]", "m.Union[()]", "m.cast", "isinstance(1, Named)", "m.Generic[int]"):
    try:
        eval(bad)
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
    "urllib.parse": """
[m.urlsplit("http://u:p@h:8%d/a/../b;c?q=1&r=2#f" % i) for i in range(9)]
m.urljoin("http://a/b/c/d", "../g"), m.quote("a b/\\u00fc"), m.parse_qs("a=1&b=2&a=3")
m.urlencode({"a": [1, 2]}, True), m.unquote("%C3%A4%zz"), m.urlunsplit(m.urlsplit("//x/y?z"))
for bad in ("http://[x", "http://\\u2100.com", "http://a:b"):
    try:
        m.urlsplit(bad).port
    except ValueError:
        pass
""",
    "uuid": """
m.uuid5(m.NAMESPACE_DNS, "x"), m.UUID("12345678123456781234567812345678").hex, m.UUID(int=5).urn
for bad in ("x", "1" * 31):
    try:
        m.UUID(bad)
    except ValueError:
        pass
""",
    "xml.etree.ElementTree": """
import io
root = m.Element("r", a="1")
for i in range(20):
    m.SubElement(root, "c", n=str(i)).text = "t<%d>" % i
text = m.tostring(root)
tree = m.ElementTree(m.fromstring(text))
tree.findall(".//c[@n='3']"), tree.find("c"), m.indent(tree), list(m.iterparse(io.BytesIO(text)))
tree.write(io.BytesIO(), encoding="utf-8", xml_declaration=True), m.canonicalize("<a b='1'/>")
try:
    m.fromstring("<a>")
except m.ParseError:
    pass
""",
    "xml.dom.minidom": """
document = m.parseString("<a x='1'><b>t</b><!-- c --><b/></a>")
[node.toxml() for node in document.getElementsByTagName("b")], document.toprettyxml()
try:
    document.documentElement.removeChild(document)
except Exception:
    pass
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

LANGUAGE = """
import asyncio, contextlib, sys

class Bad(Exception):
    pass

class Operand:
    # Raises at the operation whose turn it is.
    left = 0
    def _turn(self, *args):
        Operand.left -= 1
        if Operand.left == 0:
            raise Bad
        return self
    __add__ = __radd__ = __iadd__ = __sub__ = __neg__ = __getitem__ = __call__ = __enter__ = _turn
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._turn()
    def __setitem__(self, key, value):
        self._turn()
    def __bool__(self):
        self._turn()
        return True
    def __lt__(self, other):
        self._turn()
        return True
    def __exit__(self, *error):
        self._turn()
        return False
    def __iter__(self):
        self._turn()
        yield self
        self._turn()
        yield 2
    def __contains__(self, other):
        self._turn()
        return True
    def __format__(self, spec):
        self._turn()
        return spec
    def __hash__(self):
        self._turn()
        return 1
    def __len__(self):
        self._turn()
        return 2
    def __index__(self):
        self._turn()
        return 0

def every_operand(a, b):
    c = a + b - a
    d = [a[b], -a, a(b, c), a.x.y]
    a[0] = b.z
    if a and b < c:
        d += [a + 1]
    with a as e, b:
        f = f"{a:x}{b:y}"
    for g in a:
        c = g in a if a else b
    h = {a: b, 1: c}
    i, *j = b
    a += b
    k = [x + y for x in a for y in (a + b, 1) if x]
    return a + (b - (c + (a - b))), len(a), (1, 2)[b]

def try_every_operand():
    done = False
    turn = 0
    while not done:
        turn += 1
        Operand.left = turn
        try:
            every_operand(Operand(), Operand())
            done = True
        except Bad:
            pass
    return turn

class Countdown:
    # Ends its iteration by an exception out of Python.
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        return self
    def __next__(self):
        if self.n == 0:
            raise StopIteration(5)
        self.n -= 1
        return self.n
    def send(self, value):
        return self.__next__()
    def throw(self, *error):
        if self.n == 1:
            raise StopIteration(6)
        raise error[0]

def iterate(n):
    total = 0
    for i in Countdown(n):
        for j in Countdown(i):
            if j == 2:
                continue
            total += j
        else:
            total += 1
    return total, [k for k in Countdown(n)], {k: k for k in Countdown(n) if k}

def delegate(n):
    first = yield from Countdown(n)
    second = yield from plain(n)
    try:
        third = yield from plain(n)
    except Bad:
        third = yield 9
    finally:
        yield 10
    return first, second, third

def plain(n):
    i = 0
    while i < n:
        i += 1
        try:
            got = yield i
        except KeyError:
            got = yield -i
        if got:
            i += 1
    return i

def forever():
    while True:
        try:
            yield
        except Bad:
            break
        finally:
            pass

def use_generators():
    list(delegate(3)), list(plain(4))
    g = delegate(2)
    next(g), g.send(None), next(g), next(g)
    with contextlib.suppress(Bad):
        g.throw(Bad), next(g)
    g.close()
    g = plain(5)
    next(g), g.throw(KeyError()), g.send(3), g.close()
    with contextlib.suppress(Bad):
        plain(3).throw(Bad())
    plain(3).close()
    g = plain(3)
    next(g)
    with contextlib.suppress(Bad):
        g.throw(Bad())
    for _ in range(3):
        g = forever()
        next(g), next(g)
    with contextlib.suppress(StopIteration):
        g.throw(Bad())
    del g
    x, y, *z = plain(5)
    any(i > 2 for i in plain(6)), sum(i * i for i in plain(6)), max(plain(3), default=0)
    g = (i for i in plain(5) if i % 2)
    next(g), next(g), g.close()

async def sleepy(n):
    for i in range(n):
        await asyncio.sleep(0)
    if n == 2:
        raise Bad
    return n

async def items(n):
    try:
        for i in range(n):
            await asyncio.sleep(0)
            got = yield i
            if got:
                yield got
    finally:
        await asyncio.sleep(0)

class Manager:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return self
    async def __aexit__(self, *error):
        await asyncio.sleep(0)
        return error[0] is Bad

async def use_coroutines():
    out = [i async for i in items(4)]
    async for i in items(5):
        if i == 3:
            break
        elif i == 1:
            continue
    else:
        out.append(0)
    agen = items(3)
    await agen.asend(None), await agen.asend(7), await agen.aclose()
    agen = items(3)
    await agen.asend(None)
    try:
        await agen.athrow(Bad)
    except Bad:
        pass
    async with Manager() as m, Manager():
        raise Bad
    async with Manager():
        await sleepy(1)
    for result in await asyncio.gather(*(sleepy(n) for n in range(4)), return_exceptions=True):
        out.append(result)
    try:
        await sleepy(2)
    except Bad:
        out += [x for x in [await sleepy(1), 2] if x]
    task = asyncio.ensure_future(sleepy(50))
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return out

def handlers(n):
    try:
        try:
            if n == 0:
                raise Bad(n)
            elif n == 1:
                return [n / 0]
            elif n == 2:
                raise ExceptionGroup("g", [Bad(1), KeyError(2)])
            for i in range(n):
                try:
                    if i == 3:
                        break
                    if i == 1:
                        continue
                    {}[i]
                except KeyError:
                    n += 0
                finally:
                    n += 0
        except Bad as error:
            raise KeyError(error) from error
        except ZeroDivisionError:
            raise
        finally:
            n += 1
    except* Bad:
        n += 2
    except* (KeyError, ZeroDivisionError):
        n += 3
    return n

def nested(n):
    with contextlib.suppress(Bad):
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: None)
            if n % 2:
                raise Bad
            return n
    return -n

def deep(n):
    if n == 0:
        raise Bad
    try:
        return deep(n - 1) + 1
    finally:
        n = 0

def limits(n):
    def endless():
        return endless() + 1
    try:
        endless()
    except RecursionError:
        n += 1
    return n

def matching(x):
    match x:
        case 0 | 1:
            return "small"
        case [a, *rest] if a:
            return rest
        case {"k": v, **others}:
            return v, others
        case str() as s:
            return s
        case complex(real=r):
            return r
        case _:
            return None

def loops(n):
    out, i = "", 0
    while True:
        i += 1
        if i % 3 == 0:
            continue
        if i > n:
            break
        out += str(i)
    while i:
        i -= 1
    else:
        out += "."
    for a in range(n):
        for b in range(a):
            if b > 2:
                break
        else:
            continue
        break
    while n > 0 and (i := i + 1) < 9 or i == 40: n -= 1
    return out, [a for a in range(n) for b in range(a) if a != b if b], i if n else -i

def closures(n):
    total = 0
    def add(k):
        nonlocal total
        total += k
        return lambda: (total, k, n)
    class Local:
        x = [n for _ in range(2)]
        def method(self):
            return __class__, super().__init__()
    return [add(k)() for k in range(n)], Local().method()

def arguments(a, *args, b=2, **kwargs):
    return a, args, b, kwargs

def fail_at_once():
    nothing_of_this_name(1)

def call_badly():
    for _ in range(3):
        with contextlib.suppress(NameError):
            fail_at_once()
    for args, kwargs in (((), {}), ((1,), {"a": 2}), ((1,), {"b": 3, "c": 4})):
        with contextlib.suppress(TypeError):
            arguments(*args, **kwargs)
    with contextlib.suppress(TypeError):
        len(1, 2)
    with contextlib.suppress(AttributeError, NameError):
        none.attribute
    for n in (0, 1):
        with contextlib.suppress(NameError):
            if n:
                nothing_of_this_name
            n = 2
    with contextlib.suppress(UnboundLocalError):
        del missing
        missing = 1
    with contextlib.suppress(ImportError):
        from contextlib import nothing_of_this_name
    with contextlib.suppress(ValueError):
        a, b = (1, 2, 3)
    assert a if False else True, "no"

async def unawaited():
    return 1

def main():
    for _ in range(3):
        try_every_operand(), iterate(5), use_generators(), loops(20), closures(4), call_badly()
        asyncio.run(use_coroutines())
        for n in range(6):
            with contextlib.suppress(Exception):
                handlers(n)
            nested(n)
        for x in (0, 1, [1, 2], [], {"k": 1, "j": 2}, "s", 1j, None):
            matching(x)
        with contextlib.suppress(Bad):
            deep(30)
        limits(1)
        unawaited().close()
        sum(len(str(i)) for i in range(500) if i % 3)

main()
"""
