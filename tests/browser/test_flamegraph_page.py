"""The flame graph page in a real browser: what is drawn is what the model holds."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser_page import HOSTILE_TEXTS, Opened, OpenPage
from helpers import ProfileBuilder, profile_from_text
from proftrace.model.profile import UNNAMED, Profile
from proftrace.render.flamegraph import PEAK, FlamegraphOptions, render
from proftrace.units import printable
from proftrace.views.call_tree import CallTree, build_call_tree

SMALL = """
main:3;load:10;read@io.py:7 6000 blocks=3
main:3;load:11 2000
main:4;parse:20;token:5 1500 blocks=2
main:4;parse:20;parse:21;token:5 500 leaked
- 1000
"""


def tree_of(profile: Profile) -> CallTree:
    return build_call_tree(profile, (PEAK.weight, PEAK.count))


def random_profile(seed: int, stacks: int = 400) -> Profile:
    """Stacks that share their outer frames, of sizes over five powers of ten."""
    rng = random.Random(seed)
    builder = ProfileBuilder()
    frames = [
        builder.frame(f"f{k}", f"/src/module{k % 5}.py", rng.randrange(1, 400)) for k in range(40)
    ]
    known: list[list[int]] = [[frames[0]]]
    for _ in range(stacks):
        base = known[min(int(rng.expovariate(1) * len(known) / 3), len(known) - 1)]
        stack = base + rng.choices(frames, k=rng.randrange(1, 5))
        known.append(stack)
        size = int(10 ** rng.uniform(0, 5))
        builder.add(builder.stack(stack), size, blocks=rng.randrange(1, 5))
    return builder.build()


class Expected:
    """What a page of a tree has to show, computed apart from the viewer."""

    def __init__(self, tree: CallTree) -> None:
        self.tree = tree
        self.parent = [0] * len(tree)
        path: list[int] = []
        for node, depth in enumerate(tree.depth):
            del path[depth:]
            self.parent[node] = path[-1] if path else 0
            path.append(node)
        self.left = [0] * len(tree)
        used = [0] * len(tree)
        for node in range(1, len(tree)):
            above = self.parent[node]
            self.left[node] = self.left[above] + used[above]
            used[above] += tree.total[0][node]

    def row(self, depth: int) -> list[int]:
        return [node for node, level in enumerate(self.tree.depth) if level == depth]

    def check(self, rects: Sequence[dict[str, Any]], zoom: int, width: int) -> int:
        """Check every rectangle of a view; return how many frames they stand for."""
        tree = self.tree
        scale = width / tree.total[0][zoom]
        frames = 0
        for rect in rects:
            row = self.row(rect["row"])
            first = row.index(rect["node"])
            nodes = row[first : first + rect["count"]]
            frames += len(nodes)
            for number, total in enumerate(tree.total):
                assert rect["values"][number] == sum(total[node] for node in nodes)
            place = tree.places[tree.place[rect["node"]]]
            assert (rect["name"], rect["file"], rect["line"]) == (
                printable(place.name),
                printable(place.file),
                place.line,
            )
            edge = self.left[zoom]
            left = max(self.left[nodes[0]], edge)
            right = min(self.left[nodes[-1]] + tree.total[0][nodes[-1]], edge + tree.total[0][zoom])
            assert rect["x"] == pytest.approx((left - edge) * scale, abs=1e-3)
            assert rect["width"] == pytest.approx((right - left) * scale, abs=1e-3)
        return frames

    def seen(self, zoom: int, rows: range) -> int:
        """Return how many frames with a width overlap a zoomed frame in the given rows."""
        total, edge = self.tree.total[0], self.left[zoom]
        return sum(
            1
            for node, depth in enumerate(self.tree.depth)
            if depth in rows
            and total[node]
            and self.left[node] < edge + total[zoom]
            and self.left[node] + total[node] > edge
        )


def canvas_width(opened: Opened) -> int:
    return int(opened.page.evaluate("() => document.getElementById('scroller').clientWidth"))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("flipped", [False, True], ids=["icicle", "flame"])
def test_every_rectangle_has_the_value_of_the_model(
    open_page: OpenPage, seed: int, flipped: bool
) -> None:
    tree = tree_of(random_profile(seed))
    expected = Expected(tree)
    opened = open_page(random_profile(seed), height=1200)
    if flipped:
        opened.press("f")
    assert opened.state("count") == len(tree)
    assert opened.state("totals") == [total[0] for total in tree.total]
    by_size = sorted(range(len(tree)), key=lambda node: -tree.total[0][node])
    for zoom in [0, by_size[1], by_size[10], by_size[60], by_size[200]]:
        opened.page.goto(opened.page.url.split("#")[0] + f"#{zoom}")
        opened.until("zoom", zoom)
        rects = opened.state("rects")
        rows = range(min(r["row"] for r in rects), max(r["row"] for r in rects) + 1)
        frames = expected.check(rects, zoom, canvas_width(opened))
        assert frames >= expected.seen(zoom, rows) > 0
        assert frames - expected.seen(zoom, rows) <= sum(1 for value in tree.total[0] if not value)


def test_rows_stand_under_their_callers_or_on_top_of_them(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    tops = {rect["row"]: rect["y"] for rect in opened.state("rects")}
    assert [tops[row] for row in range(5)] == [0, 20, 40, 60, 80]
    opened.press("f")
    tops = {rect["row"]: rect["y"] for rect in opened.state("rects")}
    assert [tops[row] - tops[0] for row in range(5)] == [0, -20, -40, -60, -80]


def test_pixels_are_drawn_where_the_rectangles_are(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    middles = [[r["x"] + r["width"] / 2, r["y"] + 10] for r in opened.state("rects")]
    below = [500, max(y for _, y in middles) + 30]
    read = """(points) => {
      const { width, height } = document.getElementById('canvas');
      const context = document.getElementById('canvas').getContext('2d');
      const { data } = context.getImageData(0, 0, width, height);
      return points.map(([x, y]) => data[(Math.floor(y) * width + Math.floor(x)) * 4 + 3]);
    }"""
    assert opened.page.evaluate(read, [*middles, below]) == [255] * len(middles) + [0]


def click_frame(opened: Opened, name: str, line: int | None = None) -> int:
    """Click the first frame of that name and line; return its node."""
    for rect in opened.state("rects"):
        if rect["name"] == name and line in (None, rect["line"]):
            x = rect["x"] + rect["width"] / 2
            opened.page.locator("#canvas").click(position={"x": x, "y": rect["y"] + 10})
            opened.settle()
            return int(rect["node"])
    raise AssertionError(f"no frame {name}")


def names_in_view(opened: Opened) -> list[str]:
    return [rect["name"] for rect in opened.state("rects")]


def test_a_click_zooms_and_back_and_forward_remember(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    first = click_frame(opened, "load")
    second = click_frame(opened, "read")
    assert names_in_view(opened) == ["<root>", "main", "load", "read"]
    for step, zoom in (("go_back", first), ("go_back", 0), ("go_forward", first)):
        getattr(opened.page, step)()
        opened.until("zoom", zoom)
    opened.page.keyboard.press("Backspace")
    opened.until("zoom", 0)
    opened.page.go_forward()
    opened.page.go_forward()
    opened.until("zoom", second)
    opened.page.locator("#back").click()
    opened.until("zoom", first)
    opened.page.locator("#reset").click()
    assert opened.state("zoom") == 0


def test_an_address_with_a_frame_opens_there_and_back_leads_to_its_caller(
    open_page: OpenPage,
) -> None:
    opened = open_page(profile_from_text(SMALL), fragment="#3")
    assert (opened.state("zoom"), opened.state("selected.name")) == (3, "read")
    opened.press("Backspace")
    opened.until("selected.name", "load")


@pytest.mark.parametrize("fragment", ["#99999", "#-1", "#1.5", "#<img>", "#NaN"])
def test_an_address_of_no_frame_shows_everything(open_page: OpenPage, fragment: str) -> None:
    assert open_page(profile_from_text(SMALL), fragment=fragment).state("zoom") == 0


def test_the_keyboard_walks_and_zooms(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    opened.page.focus("#canvas")
    walk = [
        ("ArrowDown", "main", 3),
        ("ArrowDown", "load", 10),
        ("ArrowDown", "read", 7),
        ("ArrowDown", "read", 7),
        ("ArrowUp", "load", 10),
        ("ArrowRight", "load", 11),
        ("ArrowRight", "load", 11),
        ("ArrowLeft", "load", 10),
    ]
    for key, name, line in walk:
        opened.press(key)
        assert (opened.state("selected.name"), opened.state("selected.line")) == (name, line)
    opened.press("Enter")
    assert opened.state("zoom") == 2
    opened.press("ArrowUp", "Home")
    assert opened.state("selected.node") == 2
    opened.press("0")
    assert opened.state("zoom") == 0
    opened.press("f", "ArrowUp")
    assert opened.state("selected.name") == "main"
    opened.press("Enter", "Escape")
    assert opened.state("zoom") == 0


def test_the_live_region_speaks_the_selected_frame(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    opened.press("ArrowDown", "ArrowDown", "ArrowDown")
    spoken = opened.page.locator("#live").text_content()
    assert spoken == "read, io.py line 7, 5.9 KiB, 54.5 percent of all"


def test_keys_of_buttons_and_of_the_search_stay_theirs(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    opened.press("/")
    opened.page.keyboard.type("fd0?/")
    assert opened.page.input_value("#search") == "fd0?/"
    assert (opened.state("flipped"), opened.state("theme")) == (False, "light")
    opened.press("Escape")
    assert opened.page.input_value("#search") == ""
    opened.page.focus("#flip")
    opened.press("Enter")
    assert opened.state("flipped") is True


@pytest.mark.parametrize(
    "pattern", ["f1", "f(2|3)", "module3", r"\.py:\d\d$", "F7 .*MODULE2", "nothing at all", "."]
)
def test_the_share_of_a_search_counts_nothing_twice(open_page: OpenPage, pattern: str) -> None:
    profile = random_profile(4)
    tree = tree_of(profile)
    regex = re.compile(pattern, re.IGNORECASE)
    sums, frames, path = [0, 0], 0, list[bool]()
    for node, depth in enumerate(tree.depth):
        place = tree.places[tree.place[node]]
        text = f"{place.name} {place.file}:{place.line}" if place.file else place.name
        matches = node > 0 and bool(regex.search(text))
        frames += matches
        del path[depth:]
        path.append(matches)
        if any(path):
            sums = [sums[k] + tree.own[k][node] for k in range(2)]
    opened = open_page(profile)
    opened.search(pattern)
    found = opened.state("search")
    assert (found["sums"], found["nodes"], found["valid"]) == (sums, frames, True)
    share = f"{100 * sums[0] / tree.total[0][0]:.1f} % of all"
    assert opened.text("#search-result").endswith(share if frames else "no match")


def test_a_pattern_that_is_none_is_outlined_and_matched_as_text(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text("main;f(x 10\nmain;g 30"))
    border = "() => getComputedStyle(document.getElementById('search')).outlineColor"
    before = opened.page.evaluate(border)
    opened.search("f(")
    assert opened.page.get_attribute("#search", "aria-invalid") == "true"
    assert opened.page.evaluate(border) == "rgb(179, 38, 30)" != before
    assert opened.state("search.sums") == [10, 1]
    assert opened.text("#search-result") == (
        "not a regular expression; as text: 1 frame · 10 B · 25.0 % of all"
    )
    opened.search("f")
    assert opened.page.get_attribute("#search", "aria-invalid") == "false"


def test_enter_in_the_search_walks_the_matches_by_size(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    opened.search("token|read")
    nodes = opened.state("search.outermost")
    walked = []
    for key in ("Enter", "Enter", "Enter", "Enter", "Shift+Enter"):
        opened.press(key)
        walked.append(opened.state("selected.node"))
    assert len(nodes) == 3
    assert walked == [*nodes, nodes[0], nodes[2]]


def test_the_tooltip_names_place_bytes_blocks_and_shares(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    rect = next(rect for rect in opened.state("rects") if rect["name"] == "parse")
    opened.page.locator("#canvas").hover(position={"x": rect["x"] + 20, "y": rect["y"] + 5})
    lines = opened.text("#tooltip").split()
    assert " ".join(lines) == (
        "parse app.py:20 total 2.0 KiB · 18.2 % of all own 0 B · 0.0 % of all "
        "blocks 3, own 0 of its caller 100.0 %"
    )
    opened.page.mouse.move(500, 5)
    assert not opened.page.locator("#tooltip").is_visible()


def test_frames_too_narrow_are_drawn_together_and_can_be_zoomed_into(open_page: OpenPage) -> None:
    text = "\n".join(f"main;f{k:04} {100 + k % 3} blocks=1" for k in range(5000))
    opened = open_page(profile_from_text(text), width=500)
    rects = [rect for rect in opened.state("rects") if rect["row"] == 2]
    assert sum(rect["count"] for rect in rects) == 5000
    assert len(rects) <= 2 * 500 + 2
    rect = rects[250]
    position = {"x": rect["x"] + rect["width"] / 2, "y": rect["y"] + 5}
    opened.page.locator("#canvas").hover(position=position)
    assert f"{rect['count']} frames too narrow to draw" in opened.text("#tooltip")
    opened.page.locator("#canvas").click(position=position)
    assert re.fullmatch(r"f\d{4}", opened.state("selected.name"))
    assert opened.state("zoom") == opened.state("selected.node") > 0


def test_dark_and_light_follow_the_system_and_the_button(open_page: OpenPage) -> None:
    back = "() => getComputedStyle(document.body).backgroundColor"
    opened = open_page(profile_from_text(SMALL), color_scheme="dark")
    assert opened.state("theme") == "dark"
    dark = opened.page.evaluate(back)
    opened.page.emulate_media(color_scheme="light")
    opened.until("theme", "light")
    light = opened.page.evaluate(back)
    assert dark != light
    opened.press("d")
    assert opened.state("theme") == "dark"
    assert opened.page.evaluate(back) == dark
    assert opened.page.get_attribute("#theme", "aria-pressed") == "true"
    opened.page.reload()
    assert opened.state("theme") == "dark"


def test_twenty_thousand_levels_can_be_scrolled_to_the_last(open_page: OpenPage) -> None:
    builder = ProfileBuilder()
    frames = [builder.frame("walk", "deep.py", 1 + level % 50) for level in range(20_000)]
    builder.add(builder.stack(frames), 1000)
    opened = open_page(builder.build())
    assert opened.state("rows") == 20_001
    assert opened.page.evaluate("() => document.getElementById('canvas').height") < 1000
    for flipped in (False, True):
        if flipped:
            opened.press("f")
        side = "0" if flipped else "scroller.scrollHeight"
        opened.page.evaluate(
            f"() => {{ const scroller = document.getElementById('scroller');"
            f" scroller.scrollTop = {side}; }}"
        )
        opened.page.wait_for_timeout(100)
        rects = opened.state("rects")
        assert max(rect["row"] for rect in rects) == 20_000
        assert {tuple(rect["values"]) for rect in rects} == {(1000, 1)}
    deepest = max(opened.state("rects"), key=lambda rect: rect["row"])
    opened.page.locator("#canvas").click(position={"x": 300, "y": deepest["y"] + 10})
    assert opened.state("zoom") == 20_000
    opened.press("0")
    assert 0 in {rect["row"] for rect in opened.state("rects")}


@pytest.mark.parametrize("text", ["", "main 0 blocks=3"], ids=["no sample", "zero bytes"])
def test_nothing_to_draw_is_said(open_page: OpenPage, text: str) -> None:
    opened = open_page(profile_from_text(text))
    assert opened.text("#message") == "Nothing to draw: the total is 0 B."
    assert not opened.page.locator("#graph").is_visible()
    assert opened.state("rects") == []
    opened.press("t", "f", "0", "Enter", "/", "?", "d")
    assert not opened.page.locator("#toolbar").is_visible()
    assert not opened.page.locator("#graph").is_visible()


def test_one_node_is_a_graph(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text("main 5"))
    rects = opened.state("rects")
    assert [(rect["name"], rect["values"]) for rect in rects] == [
        ("<root>", [5, 1]),
        ("main", [5, 1]),
    ]


def test_leaks_are_drawn_when_asked_for(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL), FlamegraphOptions(leaks=True))
    assert opened.state("totals") == [500, 1]
    assert opened.text("h1") == "Memory live at the end test.py"


def test_sizes_up_to_the_largest_exact_number_are_exact(open_page: OpenPage) -> None:
    largest = 2**53 - 1
    opened = open_page(profile_from_text(f"main;a {largest - 7}\nmain;b 7"))
    assert opened.state("totals") == [largest, 2]
    values = {rect["name"]: rect["values"][0] for rect in opened.state("rects")}
    assert values == {"<root>": largest, "main": largest, "a": largest - 7, "b": 7}


HOSTILE = [*HOSTILE_TEXTS, "half\ud800"]


def test_hostile_names_are_shown_as_text(open_page: OpenPage) -> None:
    builder = ProfileBuilder()
    for number, name in enumerate(HOSTILE):
        stack = builder.stack([builder.frame(name, f"/tmp/{name}.py", 3)])
        builder.add(stack, 1000 + number)
    opened = open_page(builder.build(warnings=tuple(HOSTILE)))
    names = [printable(name or UNNAMED) for name in HOSTILE]
    assert sorted(names_in_view(opened)) == sorted(["<root>", *names])
    for rect in opened.state("rects"):
        position = {"x": rect["x"] + 5, "y": rect["y"] + 5}
        opened.page.locator("#canvas").hover(position=position)
        shown = opened.page.locator("#tooltip .name").text_content() or ""
        assert shown == rect["name"] or (len(rect["name"]) == 10_000 and "…" in shown)
        box = opened.page.locator("#tooltip").bounding_box()
        assert box is not None and box["height"] < 400
    opened.search("script")
    assert opened.state("search.nodes") == 2
    opened.press("Escape", "t")
    assert opened.page.evaluate("() => window.hacked") is None
    assert opened.page.locator("img").count() == 0


def test_without_scripts_the_summary_is_there(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL), java_script_enabled=False)
    assert opened.page.locator("#summary").is_visible()
    assert not opened.page.locator("#toolbar").is_visible()
    rows = opened.page.locator("#summary tbody tr").all_inner_texts()
    assert [row.split("\t")[:4] for row in rows] == [
        ["read", "io.py:7", "5.9 KiB", "54.5"],
        ["load", "app.py:11", "2.0 KiB", "18.2"],
        ["token", "app.py:5", "2.0 KiB", "18.2"],
        ["<no Python frame>", "", "1000 B", "9.1"],
    ]


def test_the_table_takes_the_place_of_the_graph_and_back(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    summary, graph = opened.page.locator("#summary"), opened.page.locator("#graph")
    assert (summary.is_visible(), graph.is_visible()) == (False, True)
    before = opened.state("rects")
    opened.press("t")
    assert (summary.is_visible(), graph.is_visible()) == (True, False)
    opened.press("t")
    assert (summary.is_visible(), graph.is_visible()) == (False, True)
    assert opened.state("rects") == before


def test_the_graph_fits_the_window_at_any_size(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL), width=360, height=600)
    for width in (360, 1400, 800):
        opened.page.set_viewport_size({"width": width, "height": 600})
        opened.page.wait_for_timeout(100)
        root = opened.state("rects[0]")
        assert root["width"] == pytest.approx(canvas_width(opened))
        wider = opened.page.evaluate("() => document.documentElement.scrollWidth")
        assert wider <= width


def test_zoom_glides_unless_the_reader_wants_no_motion(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL), reduced_motion="no-preference")
    opened.page.evaluate("() => document.getElementById('canvas').focus()")
    click_frame(opened, "read")
    assert names_in_view(opened) == ["<root>", "main", "load", "read"]
    widths = [rect["width"] for rect in opened.state("rects")]
    assert widths == pytest.approx([canvas_width(opened)] * 4)


def test_help_lists_the_keys_and_takes_them_while_open(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    opened.press("?")
    assert "Backspace" in opened.text("#keys")
    opened.press("f")
    assert opened.state("flipped") is False
    opened.press("Escape")
    assert not opened.page.locator("#keys").is_visible()


def test_the_stack_of_a_frame_can_be_copied(open_page: OpenPage) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    opened = open_page(profile_from_text(SMALL), permissions=permissions)
    click_frame(opened, "read")
    opened.page.locator("#copy").click()
    copied = opened.page.evaluate("() => navigator.clipboard.readText()")
    assert copied == "main (app.py:3)\nload (app.py:10)\nread (io.py:7)"


def test_the_page_works_in_a_sandbox(open_page: OpenPage) -> None:
    """As build servers show artifacts: scripts run, but history and storage may be closed."""
    opened = open_page(profile_from_text(""))
    page = opened.page
    page.evaluate(
        """(html) => {
          const frame = document.createElement('iframe');
          frame.sandbox = 'allow-scripts';
          frame.srcdoc = html;
          frame.style.cssText = 'position:fixed;inset:0;width:100%;height:100%;z-index:9';
          document.body.replaceChildren(frame);
        }""",
        render(profile_from_text(SMALL)),
    )
    frame = page.frame_locator("iframe")
    frame.locator("#canvas").click(position={"x": 100, "y": 50})
    frame.locator("#details-text .name", has_text="load").wait_for()
    frame.locator("#back").click()
    frame.locator("#details-text .name", has_text="<root>").wait_for()


def test_controls_have_names_and_the_graph_a_role(open_page: OpenPage) -> None:
    opened = open_page(profile_from_text(SMALL))
    page = opened.page
    for name in ("Back", "Show all", "Flip", "Table", "Dark", "Help", "Copy stack"):
        assert page.get_by_role("button", name=name, exact=True).count() == 1
    assert page.get_by_role("searchbox", name="Search").count() == 1
    canvas = page.get_by_role("application")
    assert "Enter zooms" in (canvas.get_attribute("aria-label") or "")
    assert page.locator("#live[aria-live=polite]").count() == 1
    opened.press("Tab", "Tab", "Tab")
    assert page.evaluate("() => document.activeElement.tagName") == "BUTTON"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("key", ["", "t", "?"], ids=["graph", "table", "help"])
def test_no_rule_of_accessibility_is_broken(open_page: OpenPage, scheme: str, key: str) -> None:
    """By axe: roles, names, contrast, landmarks, focus."""
    options = FlamegraphOptions(notes=("a note",))
    opened = open_page(profile_from_text(SMALL), options, color_scheme=scheme)
    opened.search("parse")
    opened.page.focus("#canvas")
    opened.press(*([key] if key else []))
    report = Axe().run(opened.page)
    assert report.violations_count == 0, report.generate_report()


def test_a_hundred_thousand_nodes_cost_pixels(open_page: OpenPage) -> None:
    rng = random.Random(7)
    builder = ProfileBuilder()
    frames = [builder.frame(f"f{k}", f"/src/m{k % 30}.py", k) for k in range(3000)]
    stack = [frames[0]]
    nodes = 0
    while nodes < 100_000:
        del stack[1 + rng.randrange(len(stack)) :]
        grown = rng.randrange(1, 9)
        stack += rng.choices(frames, k=min(grown, 60 - len(stack)))
        nodes += grown
        builder.add(builder.stack(stack), int(10 ** rng.uniform(0, 6)))
    opened = open_page(builder.build(), width=1600, height=1000)
    assert opened.state("count") > 60_000
    rects = opened.state("rects")
    rows = len({rect["row"] for rect in rects})
    assert 0 < len(rects) <= 2 * (canvas_width(opened) + 1) * rows
    assert sum(rect["values"][0] for rect in rects if rect["row"] == 1) == opened.state("totals[0]")
