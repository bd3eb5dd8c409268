"""Modules that read and write texts: source code, markup, tables, messages, patterns."""

from __future__ import annotations

TEXTS = {
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
    "fnmatch": """
m.filter(["a.py", "b.c", "[x]"], "*.py"), m.translate("[!a-c]?*[]x"), m.fnmatchcase("ab", "a[b]")
""",
    "gettext": """
m.c2py("n == 1 ? 0 : n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 10 || n % 100 >= 20) ? 1 : 2")(5)
for bad in ("n $ 1", "n ==", "n" * 1001, "(" * 30 + "n" + ")" * 30):
    try:
        m.c2py(bad)
    except ValueError:
        pass
""",
    "html.parser": """
class Parser(m.HTMLParser):
    def handle_starttag(self, tag, attrs):
        self.last = dict(attrs)
Parser().feed("<a href=x b>y &amp; z &#65;<!-- c --><br/><script>1<2</script><?p?><!D>" * 9)
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
    "pprint": """
m.pformat({i: list(range(i)) for i in range(20)}, width=40)
m.pformat([("a" * 30,) * 5, {1, 2, 3}, b"x" * 200]), m.pformat({"z": {"y": [1] * 60}}, compact=True)
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
    "shlex": """
m.split("a 'b c' \\"d e\\" f\\\\ g # h", comments=True), m.quote("a'b"), m.join(["a b", "c"])
list(m.shlex("a && b|c", punctuation_chars=True))
for bad in ("'x", '"x', "x\\\\"):
    try:
        m.split(bad)
    except ValueError:
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
    "xml.dom.minidom": """
document = m.parseString("<a x='1'><b>t</b><!-- c --><b/></a>")
[node.toxml() for node in document.getElementsByTagName("b")], document.toprettyxml()
try:
    document.documentElement.removeChild(document)
except m.xml.dom.NotFoundErr:
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
}
