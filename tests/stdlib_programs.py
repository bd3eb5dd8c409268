"""Programs made of standard library modules: all their functions profiled, and made to work."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

LIBRARY = Path(sysconfig.get_path("stdlib"))

# What the module is made to do; appended to its text, so that its names are at hand.
WORKLOADS = {
    "argparse": """
p = ArgumentParser(prog="x", description="d " * 50)
p.add_argument("-a", type=int, default=3, help="h")
p.add_argument("b", nargs="*")
group = p.add_mutually_exclusive_group()
group.add_argument("--c", action="store_true")
group.add_argument("--d", action="append")
p.parse_args(["-a", "4", "x", "--d", "1", "--d=2"])
p.format_help()
""",
    "configparser": """
c = ConfigParser()
c.read_string("[a]\\nx=1\\ny=%(x)s2\\n[b]\\nz: 1\\n  2\\n")
c["a"]["y"], c.getint("a", "x"), c.sections()
""",
    "fractions": """
sum(Fraction(1, n) for n in range(1, 20)) * Fraction("3.25") / Fraction(7, 3) ** 3
f"{Fraction(22, 7):.5f}", float(Fraction(1, 3)), Fraction(1, 3) < 0.5
""",
    "ipaddress": """
list(ip_network("10.0.0.0/30").hosts()), ip_address("::1"), ip_address("fe80::1%eth0")
list(collapse_addresses([ip_network("10.0.0.0/25"), ip_network("10.0.0.128/25")]))
""",
    "shlex": """
split("a 'b c' d\\\\ e # x", comments=True), list(shlex("a && b|c", punctuation_chars=True))
""",
    "textwrap": """
wrap("hello world this is a long text " * 20, 30), dedent("  a\\n   b"), shorten("ab " * 20, 20)
""",
    "urllib/parse": """
urlparse("http://a:b@c:80/d;e?f=g&h=i#j"), parse_qs("a=1&b=2&a=3"), urlencode({"a": [1, 2]}, True)
quote("\\u00e4 b/c"), unquote("%C3%A4"), urljoin("http://a/b/c", "../d")
""",
    "_pydecimal": """
Decimal("1.23") / Decimal(7), Decimal(2).sqrt(), Decimal("1e5").quantize(Decimal("0.01"))
Decimal("2.5").exp(), f"{Decimal('1234.5'):,.2f}"
""",
    "ast": """
unparse(parse("def f(a, *b, c=1):\\n  with x as y, z: return [i for i in (1, 2) if i]\\n"
              "  try: pass\\n  except A as e: raise\\n  finally: q = f'{a!r:>{w}}'\\n"
              "match x:\\n case [1, *_]: pass")), literal_eval("[1, {2: 3}, -4, 5 + 6j]")
text = "class A:\\n 'd'\\n def f(self):\\n  'e'\\n  return (1,\\n   2) if self else {3: 4}"
tree = fix_missing_locations(NodeTransformer().visit(increment_lineno(parse(text), 0)))
dump(tree, include_attributes=True, indent=1), NodeVisitor().visit(tree)
[get_source_segment(text, node, padded=True) for node in walk(tree) if isinstance(node, Tuple)]
[get_docstring(node) for node in walk(tree) if isinstance(node, (ClassDef, FunctionDef))]
""",
}


def _with_every_function_profiled(source: str) -> str:
    """Put `@profile` in front of each `def` that stands on a line of its own."""
    lines = source.splitlines()
    places = {
        (node.lineno - 1, node.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    for line, column in sorted(places, reverse=True):
        if not lines[line][:column].strip():
            lines.insert(line, " " * column + "@profile")
    return "\n".join(lines)


def stdlib_program(name: str) -> str:
    """Return the source of a module of `WORKLOADS` with its work behind it."""
    module = _with_every_function_profiled((LIBRARY / f"{name}.py").read_text(encoding="utf-8"))
    return module.partition("\nif __name__ == ")[0] + WORKLOADS[name]
