"""Several processes in one profile: nothing is lost, nothing is counted twice."""

from __future__ import annotations

from dataclasses import replace

from helpers import profile_from_text
from proftrace.model.combine import combine
from proftrace.model.profile import MEMORY_METRICS, Profile
from proftrace.views.call_tree import build_call_tree
from proftrace.views.statistics import statistics


def process(pid: int, text: str, program: str = "app.py") -> Profile:
    profile = profile_from_text(text, f"{pid}.bin")
    return replace(
        profile,
        header={**profile.header, "pid": pid, "ppid": 1, "end_of_script": 1},
        meta={**profile.meta, "program": program, "argv": f'["{program}", "x y"]'},
        warnings=(f"{pid}.bin: warned",),
    )


ONE = "main;work 100 blocks=2 leaked tid=7\n- 5 tid=8\nmain 30 gone"
TWO = "main;work 40 tid=9\nother 1000 allocator=10 gone"


def stack_names(profile: Profile) -> dict[tuple[str, ...], int]:
    """Return the total bytes by stack, outermost name first."""
    found: dict[tuple[str, ...], int] = {}
    samples, stacks = profile.samples, profile.stacks
    for row, size in zip(samples.stack, samples.values["total_bytes"], strict=True):
        names, stack = [], row
        while stack:
            function = profile.frames.function[stacks.frame[stack]]
            names.insert(0, profile.strings[profile.functions.qualname[function]])
            stack = stacks.parent[stack]
        found[tuple(names)] = found.get(tuple(names), 0) + size
    return found


def test_one_process_stays_as_it_is() -> None:
    profile = process(1, ONE)
    assert combine([profile]) is profile
    assert profile.processes == ()


def test_each_process_is_the_outermost_frame_of_its_stacks() -> None:
    both = combine([process(11, ONE), process(12, TWO, "tools/worker.py")])
    assert stack_names(both) == {
        ("process 11: app.py", "main", "work"): 100,
        ("process 11: app.py", "<no Python frame>"): 5,
        ("process 11: app.py", "main"): 30,
        ("process 12: worker.py", "main", "work"): 40,
        ("process 12: worker.py", "other"): 1000,
    }
    assert all(parent < row for row, parent in enumerate(both.stacks.parent) if row)


def test_totals_are_sums_and_agree_with_the_samples() -> None:
    parts = [process(11, ONE), process(12, TWO)]
    both = combine(parts)
    for metric in MEMORY_METRICS:
        assert sum(both.samples.values[metric.name]) == sum(
            sum(part.samples.values[metric.name]) for part in parts
        )
    for name in ("n_allocations", "total_bytes", "peak_bytes", "leaked_bytes", "n_threads"):
        assert both.totals[name] == sum(part.totals[name] for part in parts)
    assert both.totals["largest_bytes"] == 1000
    assert both.totals["smallest_bytes"] == 5
    assert sum(both.size_histogram) == both.totals["n_allocations"]
    tree = build_call_tree(both, MEMORY_METRICS[:1])
    assert tree.total[0][0] == both.totals["peak_bytes"]


def test_each_process_is_named_with_its_own_totals() -> None:
    first, second = combine([process(11, ONE), process(12, TWO)]).processes
    assert (first.pid, first.command, first.path) == (11, "app.py x y", "11.bin")
    assert (first.n_allocations, first.total_bytes, first.peak_bytes) == (4, 135, 105)
    assert (second.total_bytes, second.peak_bytes, second.leaked_bytes) == (1040, 40, 0)


def test_threads_and_warnings_of_all_are_there() -> None:
    both = combine([process(11, ONE), process(12, TWO)])
    assert {thread.tid for thread in statistics(both).threads} >= {7, 8, 9}
    assert both.warnings == ("11.bin: warned", "12.bin: warned")


def test_a_combined_profile_can_be_combined_again() -> None:
    both = combine([process(11, ONE), process(12, TWO)])
    again = combine([both, process(13, ONE)])
    assert again.totals["total_bytes"] == 2 * 135 + 1040
    assert ("process 11: app.py", "process 12: worker.py", "other") not in stack_names(again)
