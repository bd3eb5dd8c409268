"""What the self-check of the block counters runs (exactness.py); does the same at each run.

Texts, since each is compiled and counted by itself. A workload finds its module as `m`.
"""

from __future__ import annotations

from proftrace.lines.exactness_programs.language import LANGUAGE
from proftrace.lines.exactness_programs.services import SERVICES
from proftrace.lines.exactness_programs.texts import TEXTS
from proftrace.lines.exactness_programs.values import VALUES

__all__ = ["LANGUAGE", "WORKLOADS"]

WORKLOADS = TEXTS | VALUES | SERVICES
"""By the name of the module of the standard library that is at work."""
