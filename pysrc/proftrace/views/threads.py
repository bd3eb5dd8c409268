"""What threads are called."""

from __future__ import annotations

from proftrace.model.profile import Profile


def thread_names(profile: Profile) -> list[str]:
    """Return a name for every row of the thread table, "" when there is none.

    The system knows the first thread by the program's name only; Python calls it "MainThread".
    """
    main = profile.header.get("pid", 0)
    return [
        profile.strings[name] or ("MainThread" if tid == main else "")
        for tid, name in zip(profile.threads.tid, profile.threads.name, strict=True)
    ]
