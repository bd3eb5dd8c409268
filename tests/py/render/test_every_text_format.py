"""What every text renderer must stand, from one list of profiles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from helpers import profile_from_text
from proftrace.model.profile import Profile
from proftrace.render.csv import CsvOptions, render_csv
from proftrace.render.stats import StatsOptions, render_stats
from proftrace.render.summary import SummaryOptions, render_summary
from proftrace.render.terminal import Terminal

HOSTILE = "</script>'\"|;\u202e\x00\x1b[2J\r\udc80" + "n" * 10_000


def hostile() -> Profile:
    profile = profile_from_text("f@g:1;h@i:2 10")
    names = [f"{HOSTILE}{i}" if text else "" for i, text in enumerate(profile.strings)]
    object.__setattr__(profile, "strings", tuple(names))
    return profile


PROFILES: dict[str, Callable[[], Profile]] = {
    "empty": lambda: profile_from_text(""),
    "one": lambda: profile_from_text("f 1"),
    "no frame": lambda: profile_from_text("- 1"),
    "zero bytes": lambda: profile_from_text("f 0"),
    "deep": lambda: profile_from_text(";".join(["f", "g"] * 10_000) + " 1"),
    "wide": lambda: profile_from_text("\n".join(f"f{i}:{i} {i}" for i in range(2000))),
    "threads": lambda: profile_from_text("\n".join(f"f 1 tid={i}" for i in range(2000))),
    "hostile": hostile,
}
RENDERERS: dict[str, Callable[[Profile], str]] = {
    "csv": lambda profile: render_csv(profile, CsvOptions()),
    "stats": lambda profile: render_stats(profile, StatsOptions()),
    "stats --json": lambda profile: render_stats(profile, StatsOptions(json=True)),
    "summary": lambda profile: render_summary(profile, SummaryOptions(), Terminal(width=10_000)),
    "summary, 80": lambda profile: render_summary(profile, SummaryOptions(), Terminal(width=80)),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("renderer", RENDERERS)
def test_text_is_printable_and_ends_with_a_newline(renderer: str, profile: str) -> None:
    text = RENDERERS[renderer](PROFILES[profile]())
    assert text.endswith("\n")
    assert all(line.isprintable() for line in text.split("\n"))
    text.encode()


@pytest.mark.parametrize("renderer", RENDERERS)
def test_the_same_profile_gives_the_same_text(renderer: str) -> None:
    text = "b 5\na 5\nc 5 tid=2\nc;d 5"
    assert RENDERERS[renderer](profile_from_text(text)) == RENDERERS[renderer](
        profile_from_text(text)
    )
