"""The documentation agrees with the project: links, commands, options, and no private path."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
# Folders of the machine of whoever writes; spelled so that this file does not match itself.
PRIVATE = re.compile("|".join(rf"(?<![\w.~$]){folder}/" for folder in ("/roo" + "t", "/wor" + "k")))


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", *patterns], check=True, capture_output=True
    )
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def pages() -> list[Path]:
    return tracked("*.md")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def help_of(*words: str) -> str:
    """Return what a command's --help prints."""
    tool = Path(sys.executable).parent / words[0]
    command = [str(tool), *words[1:], "--help"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commands() -> list[tuple[str, ...]]:
    """Return every command that has a --help of its own, as the tools themselves list them."""
    of_lprof = re.findall(r"^lprof (\w+) FILE", help_of("lprof"), re.M)
    listed = help_of("memtrace").partition("commands (each has --help):")[2]
    of_memtrace = re.findall(r"^  (\w+) ", listed, re.M)
    assert of_lprof and of_memtrace
    subcommands = [("lprof", name) for name in of_lprof]
    return [("lprof",), *subcommands, *(("memtrace", name) for name in of_memtrace)]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_command_and_its_options_are_documented(words: tuple[str, ...]) -> None:
    page = (ROOT / "docs" / f"{words[0]}.md").read_text()
    sections = dict(re.findall(r"^## `([\w ]+)`\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    section = sections[" ".join(words)]
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_of(*words)))
    options -= {"--help", "--version"}
    assert {option for option in options if f"`{option}" not in section} == set()


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    guilty = []
    for path in tracked():
        if not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        guilty += [f"{path.relative_to(ROOT)}: {found[0]}" for found in PRIVATE.finditer(text)]
    assert guilty == []
