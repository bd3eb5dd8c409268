"""The documentation agrees with the project: links, commands, options, and no private path."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
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


@functools.cache
def help_of(*words: str) -> str:
    """Return what a command's --help prints."""
    tool = Path(sys.executable).parent / words[0]
    command = [str(tool), *words[1:], "--help"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@functools.cache
def commands() -> list[tuple[str, ...]]:
    """Return every command that has a --help of its own, as the tools themselves list them."""
    of_lprof = re.findall(r"^lprof (\w+) FILE", help_of("lprof"), re.M)
    listed = help_of("memtrace").partition("commands (each has --help):")[2]
    of_memtrace = re.findall(r"^  (\w+) ", listed, re.M)
    assert of_lprof and of_memtrace
    subcommands = [("lprof", name) for name in of_lprof]
    return [("lprof",), *subcommands, *(("memtrace", name) for name in of_memtrace)]


def parts_of(text: str, level: int) -> dict[str, str]:
    """Return the text below each heading of a level, up to the next one of that or a higher one."""
    pattern = rf"^{'#' * level} ([^\n]*)\n(.*?)(?=^#{{2,{level}}} |\Z)"
    return dict(re.findall(pattern, text, re.M | re.S))


def sections_of(tool: str) -> dict[str, str]:
    """Return the sections of a tool's page that describe a command, by the command.

    A section that refers to another part of the page for its options has that part, too.
    """
    page = (ROOT / "docs" / f"{tool}.md").read_text()
    parts = {heading.lower().replace(" ", "-"): text for heading, text in parts_of(page, 3).items()}
    sections = {}
    for heading, text in parts_of(page, 2).items():
        if command := re.fullmatch(r"`([\w ]+)`", heading):
            elsewhere = re.findall(r"\[options [^\]]*\]\(#([\w-]+)\)", text)
            sections[command[1]] = text + "".join(f"\n## \n{parts[one]}" for one in elsewhere)
    return sections


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_command_and_its_options_are_documented(words: tuple[str, ...]) -> None:
    section = sections_of(words[0])[" ".join(words)]
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_of(*words)))
    options -= {"--help", "--version"}
    assert {option for option in options if f"`{option}" not in section} == set()


@functools.cache
def options_of(*words: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the options of a command, as its --help tells, and those of them that take a value."""
    text = help_of(*words)
    every = re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text)
    with_value = re.findall(r"(?<![\w-])(--?[A-Za-z][\w-]*) (?:[A-Z]+\b|\{)", text)
    return frozenset(every), frozenset(with_value)


def test_options_in_tables_exist() -> None:
    n_checked = 0
    for words in commands():
        every, _ = options_of(*words)
        # Tables of the section itself: what it refers to may have more than this command takes.
        section = sections_of(words[0])[" ".join(words)].partition("\n## ")[0]
        for cell in re.findall(r"^\| (`-[^|]*) \|", section, re.M):
            for option in re.findall(r"`(--?[A-Za-z][\w-]*)", cell):
                assert option in every, f"{' '.join(words)} has no {option}"
                n_checked += 1
    assert n_checked > 50


def command_lines() -> list[tuple[str, list[str]]]:
    """Return (page, words) of every command of ours in the documentation's console blocks."""
    found = []
    for page in pages():
        for block in re.findall(r"^ *```console\n(.*?)^ *```", page.read_text(), re.M | re.S):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line.strip().removeprefix("$ "), comments=True)
                words = [re.sub(r"^\[(-.*)\]$", r"\1", word) for word in words]
                while words and re.fullmatch(r"\w+=.*", words[0]):
                    del words[0]
                if words and words[0] in ("lprof", "memtrace"):
                    found.append((page.relative_to(ROOT).as_posix(), words))
    return found


def own_options(words: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (command, option) for each option in front of what is run or read."""
    known = {command for command in commands() if len(command) == 2}
    command = tuple(words[:2]) if tuple(words[:2]) in known else (words[0],)
    assert command != ("memtrace",), f"no such command: {' '.join(words)}"
    _, with_value = options_of(*command)
    runs_something = command in (("lprof",), ("memtrace", "run"))
    rest = iter(words[len(command) :])
    for word in rest:
        if not word.startswith("-"):
            if runs_something and not word.startswith("["):
                return
        elif word.startswith("--"):
            option, _, value = word.partition("=")
            yield command, option
            if option in with_value and not value:
                next(rest, None)
        else:
            for letter in word[1:]:
                yield command, f"-{letter}"
                if runs_something and letter in "mc":
                    return
                if f"-{letter}" in with_value:
                    if word.endswith(letter):
                        next(rest, None)
                    break


def test_options_in_console_blocks_exist() -> None:
    n_checked = 0
    for page, words in command_lines():
        for command, option in own_options(words):
            every, _ = options_of(*command)
            assert option in {*every, "-m", "-c"}, f"{page}: {' '.join(words)}: no {option}"
            n_checked += 1
    assert n_checked > 20


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
