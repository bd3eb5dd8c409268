"""The page of `lprof html` in a real browser: what is seen is what the model holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser_page import HOSTILE_TEXTS, Opened, OpenPage
from line_logs import code_of, random_line_log, write_line_log
from log_writer import LogWriter, function_record, line_details, line_record
from proftrace.model.load import load_profile
from proftrace.model.profile import Profile
from proftrace.render.line_page import LinePageOptions, render_line_page
from proftrace.units import format_count, format_share, format_time, printable
from proftrace.views.line_filter import measured_time
from proftrace.views.line_stats import FunctionStats, function_stats
from proftrace.views.line_table import FunctionKey, LineValues

type Stats = Mapping[FunctionKey, FunctionStats]

TEXT = """\
def load(path):
    rows = read(path)
    return rows


def read(path):
    return [path]


def idle():
    pass
"""


def profile_of(path: Path) -> Profile:
    return load_profile(str(path))


def html_of(profile: Profile, options: LinePageOptions | None = None) -> str:
    return render_line_page(function_stats([profile]), [profile], options)


@pytest.fixture
def small(tmp_path: Path) -> Profile:
    """load (total 9 ms) calls read (6 ms); idle never ran."""
    timings = {
        code_of(TEXT, "/srv/app.py", "load"): [(2, 2, 8_000_000), (3, 2, 1_000_000)],
        code_of(TEXT, "/srv/app.py", "read"): [(7, 2, 6_000_000)],
        code_of(TEXT, "/srv/app.py", "idle"): [],
    }
    return profile_of(write_line_log(tmp_path / "small", "/srv/app.py", TEXT, timings))


def texts_of(opened: Opened, selector: str) -> list[list[str]]:
    """Return the cells of the rows that are in the page."""
    return opened.page.evaluate(  # type: ignore[no-any-return]
        """(selector) => [...document.querySelectorAll(selector)].map(
             (row) => [...row.cells].map((cell) => cell.textContent))""",
        selector,
    )


def source_rows(opened: Opened) -> dict[int, list[str]]:
    """Return the cells of the source by line, all of them: the window has to be high enough."""
    opened.settle()
    assert opened.page.locator("#lines tr.gap").count() == 0
    return {int(row[0]): row[1:] for row in texts_of(opened, "#lines tbody tr")}


def expected_row(values: LineValues | None, total: int, text: str, metric: str) -> list[str]:
    if values is None:
        return ["", "", "", "", "", "", text]
    shown = values.inclusive if metric == "total" else values.exclusive
    return [
        format_count(values.hits) if values.hits else "",
        format_time(values.inclusive),
        format_time(round(values.inclusive / values.hits)) if values.hits else "",
        format_time(values.exclusive),
        format_time(values.suspended) if values.suspended else "",
        format_share(shown, total),
        text,
    ]


def expected_source(one: FunctionStats, metric: str = "total") -> dict[int, list[str]]:
    section = one.lines
    texts = dict(enumerate(section.source or (), section.first_line))
    numbers = texts or section.lines
    return {
        number: expected_row(
            section.lines.get(number), section.total, texts.get(number, ""), metric
        )
        for number in numbers
    }


def open_function(opened: Opened, index: int, line: int = 0) -> None:
    """Go to a function (and a line of it) by its address."""
    fragment = opened.state(f"functions[{index}].fragment")
    opened.page.evaluate(
        "(hash) => { window.location.hash = hash; }", f"#{fragment}" + f"/L{line}" * bool(line)
    )
    opened.until("open.index", index)
    opened.until("line", line)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_number_of_every_function_is_the_models(
    open_html: OpenPage, tmp_path: Path, seed: int
) -> None:
    profile = profile_of(random_line_log(tmp_path / "r", seed))
    stats = function_stats([profile])
    opened = open_html(html_of(profile), width=1400, height=1400)
    whole = measured_time([one.lines for one in stats.values()])
    assert opened.state("whole") == whole
    for index, one in enumerate(stats.values()):
        open_function(opened, index)
        assert source_rows(opened) == expected_source(one)
        assert opened.text("#function-name") == one.lines.name
        assert opened.text("#function-place") == f"{one.lines.file}:{one.lines.first_line}"
        facts = opened.text("#function-facts").replace("\n", " ")
        assert f"time {with_error(one.lines.total, one.inclusive_error)} · " in facts
        assert f"self {with_error(one.exclusive, one.exclusive_error)} · " in facts
        assert f"calls {format_count(one.lines.calls)}" in facts
        regime = opened.text("#function-regime")
        assert (f"{one.samples} samples" in regime) == bool(one.samples)
        assert all(reason in regime for reason in one.reasons)
    opened.press("s")
    assert source_rows(opened) == expected_source(one, "self")


def with_error(time: int, error: int) -> str:
    return format_time(time) + (f" ± {format_time(error)}" if error else "")


@pytest.mark.parametrize("seed", [4, 5])
def test_bars_and_whiskers_stand_where_times_and_errors_are(
    open_html: OpenPage, tmp_path: Path, seed: int
) -> None:
    profile = profile_of(random_line_log(tmp_path / "r", seed))
    stats = list(function_stats([profile]).values())
    opened = open_html(html_of(profile), width=1400, height=1400)
    read = """() => Object.fromEntries([...document.querySelectorAll('#lines tbody tr')]
      .map((row) => [row.dataset.line, row])
      .filter(([, row]) => row.querySelector('.bar'))
      .map(([line, row]) => {
        const track = row.querySelector('.bar').getBoundingClientRect();
        return [line, ['.fill', '.whisker'].map((kind) => row.querySelector(kind))
          .filter(Boolean).map((part) => part.getBoundingClientRect())
          .map(({ left, right }) => [left, right].map((x) => (x - track.left) / track.width))];
      }))"""
    seen = 0
    for index, one in enumerate(stats):
        open_function(opened, index)
        bars = opened.page.evaluate(read)
        assert set(map(int, bars)) == set(one.lines.lines)
        for line, values in one.lines.lines.items():
            (start, end), *whisker = bars[str(line)]
            total = one.lines.total
            assert (start, end) == (0, pytest.approx(values.inclusive / total, abs=2e-3))
            visible = values.inclusive_error >= 0.01 * total
            assert bool(whisker) == visible
            if visible:
                seen += 1
                low = max(0, values.inclusive - values.inclusive_error) / total
                high = min(total, values.inclusive + values.inclusive_error) / total
                assert whisker[0] == pytest.approx([low, high], abs=2e-3)
    assert seen > 5


def test_a_selected_line_shows_errors_extremes_histogram_and_calls(
    open_html: OpenPage, tmp_path: Path
) -> None:
    profile = profile_of(random_line_log(tmp_path / "r", 6))
    stats = function_stats([profile])
    numbers = {key: index for index, key in enumerate(stats)}
    opened = open_html(html_of(profile), width=1400, height=1400)
    timed = called = 0
    for index, one in enumerate(stats.values()):
        for line, values in one.lines.lines.items():
            open_function(opened, index, line)
            text = " ".join(opened.text("#line-details").split())
            assert f"line {line} hits {format_count(values.hits)}" in text
            assert f"time {with_error(values.inclusive, values.inclusive_error)} · " in text
            assert f"self {with_error(values.exclusive, values.exclusive_error)} · " in text
            counts = list(values.histogram)
            bars = opened.page.locator("#line-details .histogram .spoken").all_text_contents()
            if any(counts):
                timed += 1
                first = next(k for k, count in enumerate(counts) if count)
                assert f"shortest {format_time(values.shortest)}" in text
                assert f"longest {format_time(values.longest)}" in text
                found = [int(bar.rpartition(": ")[2].replace(",", "")) for bar in bars]
                assert found == counts[first:]
            else:
                assert bars == []
            wanted = [
                f"{format_count(c.calls) if c.calls else '-'} × {format_time(c.inclusive)}"
                for c in one.lines.callees
                if c.line == line
            ]
            rows = texts_of(opened, "#line-details table tr")
            assert [f"{row[0]} {row[1]}" for row in rows] == wanted
            called += len(wanted)
        open_function(opened, index)
        callers = texts_of(opened, "#calls details:first-child tr") if one.lines.callers else []
        assert len(callers) == len(one.lines.callers)
        names = [
            list(stats)[numbers[c.other]][2] if c.other else "code that" for c in one.lines.callers
        ]
        assert all(name in row[2] for name, row in zip(names, callers, strict=True))
    assert timed > 10
    assert called > 10


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s"])
def test_a_unit_is_kept_for_all_times(open_html: OpenPage, small: Profile, unit: str) -> None:
    opened = open_html(html_of(small), width=1400)
    opened.page.select_option("#unit", unit)
    opened.settle()
    times = {
        "ns": ["9,000,000 ns", "8,000,000 ns"],
        "us": ["9,000.0 us", "8,000.0 us"],
        "ms": ["9.00 ms", "8.00 ms"],
        "s": ["0.0090 s", "0.0080 s"],
    }
    assert texts_of(opened, "#functions tbody tr")[0][1] == times[unit][0]
    assert source_rows(opened)[2][1] == times[unit][1]
    opened.press("u", *"uuuu")
    assert opened.state("unit") == unit


def listed(opened: Opened) -> list[str]:
    opened.settle()
    return [row[0] for row in texts_of(opened, "#functions tbody tr:not(.gap)")]


def test_the_list_is_sorted_by_its_heads(open_html: OpenPage, small: Profile) -> None:
    opened = open_html(html_of(small), width=1400)
    names = ["loadapp.py:1", "readapp.py:6", "idleapp.py:10"]
    assert listed(opened) == names
    heads = {
        "Function": sorted(names, key=str.lower),
        "Self": names,
        "Calls": names,
        "Time": names,
    }
    for head, order in heads.items():
        button = opened.page.get_by_role("button", name=head, exact=True)
        button.click()
        assert listed(opened) == order, head
        button.click()
        assert listed(opened) != order, head
    cells = texts_of(opened, "#functions tbody tr")
    assert [row[1] for row in cells] == ["never ran", "6.00 ms", "9.00 ms"]
    assert opened.page.get_attribute("#functions th[data-key=total]", "aria-sort") == "ascending"


@pytest.mark.parametrize("seed", [7, 8])
@pytest.mark.parametrize("metric", ["total", "self"])
def test_the_hottest_function_stands_first_and_is_open(
    open_html: OpenPage, tmp_path: Path, seed: int, metric: str
) -> None:
    profile = profile_of(random_line_log(tmp_path / "r", seed))
    stats = list(function_stats([profile]).values())
    opened = open_html(html_of(profile))
    own = {"total": lambda one: one.lines.total, "self": lambda one: one.exclusive}[metric]
    order = sorted(range(len(stats)), key=lambda index: (-own(stats[index]), index))
    assert opened.state("open.index") == opened.state("listed[0]")
    if metric == "self":
        opened.press("s")
    assert opened.state("listed") == order
    whole = measured_time([one.lines for one in stats])
    for row, index in zip(texts_of(opened, "#functions tbody tr:not(.gap)"), order, strict=False):
        if stats[index].lines.calls:
            assert row[3] == format_share(min(own(stats[index]), whole), whole)


def test_search_finds_names_files_and_source(open_html: OpenPage, small: Profile) -> None:
    opened = open_html(html_of(small))
    opened.search("rows")
    assert opened.state("search.functions") == [0]
    assert opened.state("search.lines") == [[0, 2], [0, 3]]
    assert opened.text("#search-result") == "1 function, 2 lines"
    assert listed(opened) == ["loadapp.py:1"]
    assert opened.page.locator("#lines tr.match").count() == 2
    opened.search(r"^read .*app\.py:6")
    assert (opened.state("search.functions"), opened.state("search.lines")) == ([1], [])
    opened.search("READ")
    assert opened.state("search.functions") == [0, 1]
    opened.search("nothing at all")
    assert opened.text("#search-result") == "no match"
    assert opened.page.locator("#no-match").is_visible()
    opened.search("rows(")
    assert opened.page.get_attribute("#search", "aria-invalid") == "true"
    opened.search("read(")
    assert opened.text("#search-result") == (
        "not a regular expression; as text: 2 functions, 2 lines"
    )
    opened.search("")
    assert len(listed(opened)) == 3


@pytest.mark.parametrize("pattern", [r"a\d = a \+ 3", "f1", "part2", r"# 4$", "."])
def test_a_search_finds_what_a_search_of_the_model_finds(
    open_html: OpenPage, tmp_path: Path, pattern: str
) -> None:
    profile = profile_of(random_line_log(tmp_path / "r", 9))
    regex = re.compile(pattern, re.IGNORECASE)
    functions, lines = set(), set()
    for index, one in enumerate(function_stats([profile]).values()):
        section = one.lines
        if regex.search(f"{section.name} {section.file}:{section.first_line}"):
            functions.add(index)
        for number, text in enumerate(section.source or (), section.first_line):
            if regex.search(text):
                functions.add(index)
                lines.add((index, number))
    opened = open_html(html_of(profile))
    opened.search(pattern)
    assert set(opened.state("search.functions")) == functions
    assert {(index, line) for index, line in opened.state("search.lines")} == lines


def test_enter_walks_the_lines_that_match_the_hottest_first(
    open_html: OpenPage, small: Profile
) -> None:
    opened = open_html(html_of(small))
    opened.search("return|read")
    walked = []
    for key in ("Enter", "Enter", "Enter", "Shift+Enter"):
        opened.press(key)
        walked.append((opened.state("open.name"), opened.state("line")))
    assert walked == [("load", 2), ("read", 7), ("load", 3), ("read", 7)]


def test_an_address_opens_function_and_line_and_back_leads_back(
    open_html: OpenPage, small: Profile
) -> None:
    opened = open_html(html_of(small), fragment="#read@app.py:6/L7")
    assert (opened.state("open.name"), opened.state("line")) == ("read", 7)
    opened.page.get_by_role("link", name="load").click()
    opened.until("open.name", "load")
    assert opened.page.url.endswith("#load@app.py:1")
    opened.page.locator("#lines a", has_text="3").click()
    opened.until("line", 3)
    assert opened.page.url.endswith("#load@app.py:1/L3")
    opened.page.go_back()
    opened.until("open.name", "read")
    opened.until("line", 7)
    opened.page.reload()
    assert (opened.state("open.name"), opened.state("line")) == ("read", 7)


@pytest.mark.parametrize("fragment", ["", "#", "#nothing", "#%", "#<img>", "#load@app.py:1~2"])
def test_an_address_of_nothing_shows_the_hottest(
    open_html: OpenPage, small: Profile, fragment: str
) -> None:
    opened = open_html(html_of(small), fragment=fragment)
    assert (opened.state("open.name"), opened.state("line")) == ("load", 0)


def test_the_keyboard_walks_functions_and_lines(open_html: OpenPage, small: Profile) -> None:
    opened = open_html(html_of(small))
    opened.press("ArrowDown")
    assert opened.state("open.name") == "read"
    opened.press("j")
    assert opened.state("open.name") == "idle"
    opened.press("j", "k", "k", "k")
    assert opened.state("open.name") == "load"
    opened.press("ArrowRight")
    assert (opened.state("line"), focused(opened)) == (2, "source")
    opened.press("ArrowDown", "ArrowDown")
    assert opened.state("line") == 3
    opened.press("ArrowUp", "ArrowUp", "ArrowUp")
    assert opened.state("line") == 1
    opened.press("n")
    assert opened.state("line") == 2
    opened.press("n", "n")
    assert opened.state("line") == 3
    opened.press("p")
    assert opened.state("line") == 2
    opened.press("Escape")
    assert focused(opened) == "list"
    opened.press("Enter")
    assert focused(opened) == "source"
    opened.press("ArrowLeft", "/")
    assert focused(opened) == "search"
    opened.page.keyboard.type("sdu?njk")
    assert opened.page.input_value("#search") == "sdu?njk"
    assert (opened.state("metric"), opened.state("theme")) == ("total", "light")
    opened.press("Escape", "?")
    assert "standard deviation" in opened.text("#keys")
    opened.press("s")
    assert opened.state("metric") == "total"


def focused(opened: Opened) -> str:
    return str(opened.page.evaluate("() => document.activeElement.id"))


def test_the_live_region_speaks_function_and_line(open_html: OpenPage, small: Profile) -> None:
    opened = open_html(html_of(small))
    live = opened.page.locator("#live")
    assert live.text_content() == "load, 9.00 ms, 60.0 percent of all"
    opened.press("ArrowRight")
    assert live.text_content() == "line 2, 2 hits, 8.00 ms, 88.9 percent"
    opened.press("ArrowUp")
    assert live.text_content() == "line 1, never executed"


def test_narrow_windows_show_list_or_source(open_html: OpenPage, small: Profile) -> None:
    opened = open_html(html_of(small), width=420)
    seen = lambda: [opened.page.locator(f"#{name}").is_visible() for name in ("list", "function")]  # noqa: E731
    assert seen() == [True, False]
    opened.page.locator("#functions tbody tr").nth(1).click()
    assert (seen(), opened.state("open.name")) == ([False, True], "read")
    opened.page.locator("#back").click()
    assert seen() == [True, False]
    for width in (420, 360, 1280):
        opened.page.set_viewport_size({"width": width, "height": 700})
        opened.page.wait_for_timeout(60)
        assert opened.page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_dark_and_light_follow_the_system_and_the_button(
    open_html: OpenPage, small: Profile
) -> None:
    opened = open_html(html_of(small), color_scheme="dark")
    assert opened.state("theme") == "dark"
    opened.page.emulate_media(color_scheme="light")
    opened.until("theme", "light")
    opened.press("d")
    assert opened.state("theme") == "dark"
    opened.page.reload()
    assert opened.state("theme") == "dark"


HOSTILE = [*HOSTILE_TEXTS, "a/L7", "%41%", "#~2@:1"]


def test_hostile_names_and_source_are_shown_as_text(open_html: OpenPage, tmp_path: Path) -> None:
    log = LogWriter(content=2)
    log.meta("program", HOSTILE[0])
    text = "\n".join(f"'{line}'\t#{line}" for line in HOSTILE)
    log.source(1, "</script>.py", text)
    for number, name in enumerate(HOSTILE):
        code = log.code(name, "</script>.py", 1, qualname=name or "-")
        log.lines(
            function_record(code, 1, 1, 1000 + number, 1000 + number),
            line_record(code, 1 + number, 1, 1000 + number, 1000 + number),
        )
    log.end()
    (tmp_path / "hostile").write_bytes(log.data())
    profile = profile_of(tmp_path / "hostile")
    profile = Profile(**{**fields_of(profile), "warnings": tuple(HOSTILE)})
    opened = open_html(html_of(profile))
    names = [one["name"] for one in opened.state("functions")]
    assert names == [printable(name or "-") for name in HOSTILE]
    for index in range(len(HOSTILE)):
        open_function(opened, index, 1 + index)
        shown = opened.page.locator("#function-name").text_content() or ""
        assert shown == names[index] or (len(names[index]) == 10_000 and "…" in shown)
        row = opened.page.locator(f"#lines tr[data-line='{1 + index}'] .code")
        line = printable(HOSTILE[index])
        assert row.text_content() == f"'{line}'\t#{line}"
        assert row.bounding_box() is not None
    opened.search("hacked")
    assert len(opened.state("search.lines")) > 0
    assert opened.page.evaluate("() => window.hacked") is None
    assert opened.page.locator("img").count() == 0


def fields_of(profile: Profile) -> dict[str, object]:
    return {name: getattr(profile, name) for name in Profile.__dataclass_fields__}


def test_equal_descriptions_have_addresses_of_their_own(
    open_html: OpenPage, tmp_path: Path
) -> None:
    log = LogWriter(content=2)
    records = []
    for number, folder in enumerate(("a", "b", "c")):
        code = log.code("run", f"/{folder}/app.py", 1)
        records += [
            function_record(code, 0, 1, 10, 10),
            line_record(code, 2, 1, 10 + number, 10),
        ]
    log.lines(*records)
    log.end()
    (tmp_path / "r").write_bytes(log.data())
    opened = open_html(html_of(profile_of(tmp_path / "r")))
    fragments = [one["fragment"] for one in opened.state("functions")]
    assert fragments == ["run@app.py:1", "run@app.py:1~2", "run@app.py:1~3"]
    for index in range(3):
        open_function(opened, index, 2)
        assert opened.text("#function-place") == f"/{'abc'[index]}/app.py:1"


def test_no_function_is_said(open_html: OpenPage, tmp_path: Path) -> None:
    profile = profile_of(write_line_log(tmp_path / "r", "f.py", TEXT, {}))
    opened = open_html(html_of(profile))
    assert opened.text("#message") == "Nothing was recorded: there is no function to show."
    opened.press("s", "n", "Enter", "ArrowDown", "/", "?", "d")
    assert not opened.page.locator("#panes").is_visible()


def test_one_function_is_a_report(open_html: OpenPage, tmp_path: Path) -> None:
    code = code_of(TEXT, "f.py", "read")
    profile = profile_of(write_line_log(tmp_path / "r", "f.py", TEXT, {code: [(7, 1, 5)]}))
    opened = open_html(html_of(profile))
    assert listed(opened) == ["readf.py:6"]
    assert source_rows(opened)[7] == ["1", "5 ns", "5 ns", "5 ns", "", "100.0", "    return [path]"]


def test_functions_that_never_ran_alone_are_listed(open_html: OpenPage, tmp_path: Path) -> None:
    code = code_of(TEXT, "f.py", "idle")
    profile = profile_of(write_line_log(tmp_path / "r", "f.py", TEXT, {code: []}))
    opened = open_html(html_of(profile))
    assert opened.text("#function-regime") == "never ran"
    opened.press("ArrowRight", "n", "p", "ArrowDown")
    assert opened.state("open.name") == "idle"


def test_without_its_text_a_function_has_numbers(open_html: OpenPage, small: Profile) -> None:
    html = html_of(small, LinePageOptions(source=False))
    assert "rows = read" not in html
    opened = open_html(html)
    assert source_rows(opened) == {
        2: ["2", "8.00 ms", "4.00 ms", "8.00 ms", "", "88.9", ""],
        3: ["2", "1.00 ms", "500 us", "1.00 ms", "", "11.1", ""],
    }
    assert "its text is not in this page" in opened.text("#function-regime")


def test_without_scripts_the_hottest_functions_are_there(
    open_html: OpenPage, small: Profile
) -> None:
    opened = open_html(html_of(small), java_script_enabled=False)
    assert not opened.page.locator("#toolbar").is_visible()
    rows = opened.page.locator("#summary tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["load", "/srv/app.py:1", "9.00 ms", "60.0", "9.00 ms", "60.0", "2"],
        ["read", "/srv/app.py:6", "6.00 ms", "40.0", "6.00 ms", "40.0", "2"],
    ]


def big_result(path: Path, n_functions: int, n_lines: int) -> Profile:
    """A file in which many functions ran, and the file itself as function 0."""
    log = LogWriter(content=2)
    size = n_lines // n_functions
    text = "    value_{0} = compute({0}, 'some text of a usual length')"
    lines = [
        text.format(number) if number % size else f"def part{number // size}():"
        for number in range(n_lines)
    ]
    log.source(1, "big.py", "\n".join(lines) + "\n")
    whole = log.code("<module>", "big.py", 1)
    records = [function_record(whole, 1, 1, 10**9, 10**9)]
    records += [
        line_record(whole, line, line % 7, line, line, details=line_details(1, 9, [0, 3], 2, 5))
        for line in range(2, n_lines + 1)
    ]
    for k in range(n_functions):
        first = 1 + k * size
        code = log.code(f"part{k}", "big.py", first)
        records += [function_record(code, 1, k, k, k), line_record(code, first + 1, k, k, k)]
    log.lines(*records)
    log.end()
    path.write_bytes(log.data())
    return profile_of(path)


def test_a_loop_on_one_line_is_told(open_html: OpenPage, tmp_path: Path) -> None:
    text = "def f(n):\n    for _ in n: pass\n    return n\n"
    code = code_of(text, "f.py", "f")
    path = write_line_log(tmp_path / "r", "f.py", text, {code: [(2, 1, 9), (3, 1, 9)]})
    opened = open_html(html_of(profile_of(path)))
    notes = []
    for line in (2, 3):
        open_function(opened, 0, line)
        notes.append("A loop on one line is one hit" in opened.text("#line-details"))
    assert notes == [True, False]


def test_many_functions_and_long_files_cost_what_is_in_sight(
    open_html: OpenPage, tmp_path: Path
) -> None:
    profile = big_result(tmp_path / "r", 2_000, 20_000)
    html = html_of(profile)
    assert html.count("value_19999") == 0  # the text is packed
    assert len(html) < 600_000
    opened = open_html(html)
    open_function(opened, 0)
    elements = "() => document.querySelectorAll('*').length"
    assert opened.page.evaluate(elements) < 2_000
    for line in (20_000, 1, 9_999):
        open_function(opened, 0, line)
        row = opened.page.locator(f"#lines tr[data-line='{line}']")
        box, frame = row.bounding_box(), opened.page.locator("#source").bounding_box()
        assert box is not None
        assert frame is not None
        assert frame["y"] <= box["y"] <= frame["y"] + frame["height"] - box["height"]
        text = f"value_{line - 1} = " if line > 1 else "def part0():"
        assert text in (row.text_content() or "")
    opened.page.evaluate(
        "() => { const list = document.getElementById('list'); list.scrollTop = 1e9; }"
    )
    opened.page.wait_for_timeout(100)
    last = opened.state("listed.at(-1)")
    assert opened.page.locator(f"#functions tbody tr[data-index='{last}']").count() == 1
    assert opened.page.evaluate(elements) < 2_000
    opened.search("value_1234 ")
    assert opened.state("search.lines") == [[0, 1235], [124, 1235]]
    assert sorted(opened.state("search.functions")) == [0, 124]


def test_paper_gets_all_rows(open_html: OpenPage, tmp_path: Path) -> None:
    opened = open_html(html_of(big_result(tmp_path / "r", 60, 420)))
    open_function(opened, 0)
    assert opened.page.locator("#lines tr.gap").count() == 1
    opened.page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("#lines tbody tr").count() == 420
    assert opened.page.locator("#functions tbody tr").count() == 61
    opened.page.emulate_media(media="print")
    shown = [
        opened.page.locator(f"#{name}").is_visible() for name in ("list", "function", "toolbar")
    ]
    assert shown == [True, True, False]
    opened.page.emulate_media(media="screen")
    opened.page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("#lines tr.gap").count() == 1


def test_the_page_works_in_a_sandbox(open_html: OpenPage, small: Profile) -> None:
    """As build servers show artifacts: scripts run, but history and storage may be closed."""
    opened = open_html(html_of(small))
    opened.page.evaluate(
        """(html) => {
          const frame = document.createElement('iframe');
          frame.sandbox = 'allow-scripts';
          frame.srcdoc = html;
          frame.style.cssText = 'position:fixed;inset:0;width:100%;height:100%;z-index:9';
          document.body.replaceChildren(frame);
        }""",
        html_of(small),
    )
    frame = opened.page.frame_locator("iframe")
    frame.get_by_role("link", name="read").click()
    frame.locator("#function-name", has_text="read").wait_for()
    frame.locator("#lines a", has_text="7").click()
    frame.locator("#line-details", has_text="line 7").wait_for()


def test_controls_and_rows_have_names_and_roles(open_html: OpenPage, small: Profile) -> None:
    page = open_html(html_of(small), width=1400).page
    for name in ("Self time", "Dark", "Help", "Function", "Time", "Self", "Share", "Calls"):
        assert page.get_by_role("button", name=name, exact=True).count() == 1
    assert page.get_by_role("searchbox", name="Search").count() == 1
    assert page.get_by_role("combobox", name="Unit").count() == 1
    assert page.get_attribute("#functions", "aria-rowcount") == "4"
    assert page.get_attribute("#functions tbody tr >> nth=0", "aria-rowindex") == "2"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("keys", [[], ["ArrowRight"], ["?"]], ids=["list", "line", "help"])
@pytest.mark.parametrize("width", [1280, 420])
def test_no_rule_of_accessibility_is_broken(
    open_html: OpenPage, tmp_path: Path, scheme: str, keys: Sequence[str], width: int
) -> None:
    """By axe: roles, names, contrast, landmarks, focus."""
    profile = replace(profile_of(random_line_log(tmp_path / "r", 11)), warnings=["a warning"])
    html = html_of(profile)
    opened = open_html(html, color_scheme=scheme, width=width)
    opened.search("a3")
    opened.page.focus("#list")
    opened.press(*keys)
    report = Axe().run(opened.page)
    assert report.violations_count == 0, report.generate_report()
