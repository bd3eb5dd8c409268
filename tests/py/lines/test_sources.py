"""Where the source texts of a result come from."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from case_runs import COMMANDS, lprof
from proftrace.lines.sources import decode_source
from proftrace.model.load import load_profile


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a = 1\r\nb = 2\rc = 3\n", "a = 1\nb = 2\nc = 3\n"),
        ("ä = 'ß'\n".encode(), "ä = 'ß'\n"),
        (b"\xef\xbb\xbfa = 1\n", "a = 1\n"),
        (b"# -*- coding: latin-1 -*-\n'\xe4'\n", "# -*- coding: latin-1 -*-\n'ä'\n"),
        (b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'\x80'\n",
         "#!/bin/sh\n# vim: set fileencoding=cp1252 :\n'€'\n"),
        (b"x\ny\n# coding: latin-1\n'\xe4'\n", "x\ny\n# coding: latin-1\n'\ufffd'\n"),
        (b"# coding: no-such-thing\n", "# coding: no-such-thing\n"),
        (b"'\xff'\n", "'\ufffd'\n"),
    ],
)  # fmt: skip
def test_files_are_decoded_as_the_compiler_does(data: bytes, text: str) -> None:
    assert decode_source(data) == text


def sources_of(program: str, folder: Path, *words: str) -> dict[str, list[str]]:
    """Run a program; return the texts in its result by file name."""
    (folder / "program.py").write_text(program)
    run = lprof(["-q", "-o", "r.lprof", *(words or ("program.py",))], folder)
    assert (run.status, run.stderr) == (0, "")
    result: dict[str, list[str]] = {}
    for source in load_profile(str(folder / "r.lprof")).sources.values():
        result.setdefault(source.file, []).append(source.text)
    return result


FUNCTION = "@profile\ndef f():\n    return 1\nf()\n"


def test_a_file_is_kept_once_as_it_was(tmp_path: Path) -> None:
    program = FUNCTION + FUNCTION.replace("f()", "g()") + "open(__file__, 'w').write('changed')\n"
    assert sources_of(program, tmp_path) == {f"{tmp_path}/program.py": [program]}


def test_a_relative_name_is_found_after_a_change_of_folder(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(FUNCTION)
    program = (
        "import os\n"
        "code = compile(open('lib.py').read(), 'lib.py', 'exec')\n"
        "os.chdir('/')\n"
        "exec(code)"
    )
    assert sources_of(program, tmp_path) == {"lib.py": [FUNCTION]}


def test_generated_code_has_the_text_that_linecache_has(tmp_path: Path) -> None:
    program = (
        "import linecache\n"
        "def run(text, name):\n"
        "    linecache.cache[name] = (len(text), None, text.splitlines(True), name)\n"
        "    exec(compile(text, name, 'exec'))\n"
        f"run({FUNCTION!r}, '<cell 1>')\n"
        f"run({FUNCTION!r}, '<cell 1>')\n"
        f"run({FUNCTION!r} + '# new', '<cell 1>')\n"
        f"exec({FUNCTION!r})\n"
    )
    assert sources_of(program, tmp_path) == {"<cell 1>": [FUNCTION, FUNCTION + "# new"]}


def test_the_text_of_a_command_is_kept(tmp_path: Path) -> None:
    (text,) = sources_of("", tmp_path, "-c", FUNCTION)["<string>"]
    assert text.rstrip("\n") + "\n" == FUNCTION  # 3.13 keeps it with another newline itself


def test_a_module_in_a_zip_file_is_asked_for_its_text(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr("zipped.py", FUNCTION)
    sources = sources_of("import sys; sys.path.append('lib.zip'); import zipped", tmp_path)
    assert sources == {str(Path("lib.zip", "zipped.py")): [FUNCTION]}


def test_functions_that_are_made_again_are_added_up(tmp_path: Path) -> None:
    program = "def f(x):\n    exec(x)\nf(%r)\nf(%r)\n" % (FUNCTION, FUNCTION + "f()\n")  # noqa: UP031
    sources_of(program, tmp_path)
    assert list(load_profile(str(tmp_path / "r.lprof")).calls.calls) == [3]


DECORATED = """\
import functools, sys

class Odd:
    def __getattr__(self, name): raise RuntimeError(name)

things = [print, 5, Odd(), functools.partial(len), "x" * 500, int]
for thing in things:
    assert profile(thing) is thing
def outer():
    @profile
    def inner(): pass
    return inner
assert outer().__code__ is outer().__code__
assert sys.getrefcount(outer()) <= 2
"""


def test_what_cannot_be_profiled_is_returned_with_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(DECORATED)
    run = lprof(["-q", "program.py"], tmp_path)
    assert (run.status, run.stdout) == (0, "")
    none = "no Python function was found in it"
    assert run.stderr.splitlines() == [
        "lprof: cannot profile print: it is not written in Python",
        f"lprof: cannot profile an object of type int: {none}",
        f"lprof: cannot profile an object of type Odd: {none}",
        f"lprof: cannot profile an object of type partial: {none}",
        f"lprof: cannot profile an object of type str: {none}",
        "lprof: cannot profile int: no method is defined in this class",
    ]


def test_the_decorator_can_be_imported_and_is_the_builtin(tmp_path: Path) -> None:
    program = (
        "from proftrace import profile as p\nimport builtins\nprint(p is builtins.profile, p)\n"
    )
    (tmp_path / "program.py").write_text(program)
    assert lprof(["-q", "program.py"], tmp_path).stdout == "True <proftrace.profile, running>\n"
    done = subprocess.run(
        [sys.executable, "-c", "from proftrace import profile; print(profile, profile(5))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "<proftrace.profile, not running> 5\n"


def test_a_script_that_changes_itself_first_is_shown_as_it_ran(tmp_path: Path) -> None:
    program = "open(__file__, 'w').write('x = 1\\n' * 9)\n" + FUNCTION
    assert sources_of(program, tmp_path) == {f"{tmp_path}/program.py": [program]}


CHANGED = """\
import importlib, linecache, os, sys
sys.path.insert(0, os.path.dirname(__file__))
import lib
linecache.getlines(lib.__file__)
with open(lib.__file__, "w") as file:
    file.write("def f():\\n    return 2\\n")
os.utime(lib.__file__, (1, 1))
profile(lib.f)
lib.f()
if sys.argv[1:]:
    os.remove(lib.__file__)
else:
    importlib.reload(lib)
    profile(lib.f)
lib.f()
"""


def test_of_a_changed_module_each_version_is_shown_as_it_ran(tmp_path: Path) -> None:
    first, second = "def f():\n    return 1\n", "def f():\n    return 2\n"
    for words, texts in (((), [first, second]), (("gone",), [first])):
        (tmp_path / "lib.py").write_text(first)
        sources = sources_of(CHANGED, tmp_path, "program.py", *words)
        assert sources[f"{tmp_path}/lib.py"] == texts


def test_a_text_that_did_not_run_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text("def f():\n    return 1\n")
    program = CHANGED.replace("linecache.getlines(lib.__file__)\n", "")
    sources = sources_of(program, tmp_path, "program.py", "gone")
    assert sources.get(f"{tmp_path}/lib.py") is None
    other = (
        'exec(compile("@profile\\ndef other(b):\\n    return b.c\\nother(1j)", __file__, "exec"))'
    )
    assert sources_of(other.replace("b.c", "b.real"), tmp_path) == {}


def test_a_script_from_a_pipe_is_left_to_the_interpreter(tmp_path: Path) -> None:
    command = f"{COMMANDS / 'lprof'} -q -o r.lprof <(echo 'print(7)')"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "7\n", done.stderr
