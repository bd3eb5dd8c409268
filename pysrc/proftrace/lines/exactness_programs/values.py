"""Modules of numbers, dates, containers and classes."""

from __future__ import annotations

VALUES = {
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
    "uuid": """
m.uuid5(m.NAMESPACE_DNS, "x"), m.UUID("12345678123456781234567812345678").hex, m.UUID(int=5).urn
for bad in ("x", "1" * 31):
    try:
        m.UUID(bad)
    except ValueError:
        pass
""",
}
