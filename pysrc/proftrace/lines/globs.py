"""Shell patterns, without the modules `fnmatch` and `re`, which the program may not have loaded."""

from __future__ import annotations


def matches(pattern: str, text: str) -> bool:
    """Tell whether all of `text` is what `pattern` says: `*` any text, also with `/`, `?` any
    character, `[abc]`, `[a-z]` and `[!abc]` one of some."""
    at = start = 0
    star = restart = -1
    while at < len(text):
        width = _match_one(pattern, start, text[at])
        if start < len(pattern) and pattern[start] == "*":
            star, restart = start, at
            start += 1
        elif width:
            start, at = start + width, at + 1
        elif star >= 0:  # the last `*` takes one character more
            restart += 1
            start, at = star + 1, restart
        else:
            return False
    return not pattern[start:].strip("*")


def _match_one(pattern: str, start: int, character: str) -> int:
    """Return how long the piece of the pattern is that matches one character; 0: none does."""
    if start >= len(pattern):
        return 0
    if pattern[start] == "[":
        end = pattern.find("]", start + 2)
        if end > 0:
            return end + 1 - start if _is_in_set(pattern[start + 1 : end], character) else 0
    return 1 if pattern[start] in ("?", character) else 0


def _is_in_set(members: str, character: str) -> bool:
    is_inverted = members[0] in "!^"
    if is_inverted:
        members = members[1:]
    found = False
    index = 0
    while index < len(members):
        if members[index + 1 : index + 2] == "-" and index + 2 < len(members):
            found = found or members[index] <= character <= members[index + 2]
            index += 3
        else:
            found = found or members[index] == character
            index += 1
    return found is not is_inverted
