"""Workers that take turns, and the minimum of their samples that were taken at full pace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

# A sample counts when the loops around it took at most this much more than the fastest one.
PACE_TOLERANCE = 1.12
# How many times the wanted number of samples is tried before what there is has to do.
PATIENCE = 6
# Where code and data happen to lie makes one process a few per cent faster than the next, for as
# long as it lives: the samples are spread over this many of each tool.
PROCESSES = 4

# The nanoseconds of a task, by tool and task.
type Best = dict[str, dict[str, int]]


@dataclass(slots=True)
class Worker:
    """One tool's process. Use it as a context manager: its end is the end of the process."""

    name: str
    command: Sequence[str]
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    samples: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    best: dict[str, int] = field(default_factory=dict)
    process: subprocess.Popen[str] = field(init=False)

    def __enter__(self) -> Worker:
        log = (self.folder / f"{self.name}.log").open("w")
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | self.variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        log.close()
        while (line := self.read()) != "ready\n":  # what a tool says when it starts
            print(f"{self.name}: {line}", end="", file=sys.stderr)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.communicate()

    def read(self) -> str:
        """Return the worker's next line."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            log = (self.folder / f"{self.name}.log").read_text()
            raise RuntimeError(f"the worker for {self.name} ended early:\n{log}")
        return line

    def sample(self, task: str) -> None:
        """Time a task once and keep (pace, nanoseconds)."""
        assert self.process.stdin is not None
        print(task, file=self.process.stdin, flush=True)
        before, elapsed, after = map(int, self.read().split())
        self.samples.setdefault(task, []).append((max(before, after), elapsed))

    def fastest(self, task: str) -> int:
        """Return the best pace at which a task was sampled."""
        return min(pace for pace, _ in self.samples[task])

    def accepted(self, task: str, limit: float) -> list[int]:
        """Return the samples of a task that were taken at a pace within `limit`."""
        return [elapsed for pace, elapsed in self.samples[task] if pace <= limit]


def settle(workers: Sequence[Worker], task: str) -> dict[str, list[int]]:
    """Return for each worker the samples that count: those taken at the machine's full pace."""
    limit = min(worker.fastest(task) for worker in workers) * PACE_TOLERANCE
    return {worker.name: worker.accepted(task, limit) for worker in workers}


def interleave(workers: Sequence[Worker], tasks: Sequence[str], samples: int) -> None:
    """Take turns until each worker has `samples` samples of each task that count; the least of them
    is the worker's `best`. On a machine that never comes to rest it is the least of all samples."""
    for task in tasks:
        for worker in workers:  # once for the caches, the specialised code and the first stacks
            worker.sample(task)
            worker.samples[task].clear()
        settled: dict[str, list[int]] = {}
        for _ in range(samples * PATIENCE):
            for worker in workers:
                worker.sample(task)
            settled = settle(workers, task)
            if all(len(rows) >= samples for rows in settled.values()):
                break
        for worker in workers:
            every = [elapsed for _, elapsed in worker.samples[task]]
            worker.best[task] = min(settled[worker.name] or every)


def best_of_processes(
    start: Callable[[], Mapping[str, Worker]],
    rounds: Sequence[tuple[Sequence[str], Sequence[str]]],
    samples: int,
    processes: int = PROCESSES,
) -> Best:
    """Return the least time of each tool for each task, over several processes of every tool.

    `start` makes the workers, not started; a round is the tools that take turns, and their tasks.
    """
    best: Best = {}
    for _ in range(processes):
        of = start()
        with ExitStack() as stack:
            for worker in of.values():
                stack.enter_context(worker)
            for tools, tasks in rounds:
                interleave([of[tool] for tool in tools], tasks, -(-samples // processes))
        for tool, worker in of.items():
            known = best.setdefault(tool, {})
            known |= {task: min(time, known.get(task, time)) for task, time in worker.best.items()}
    return best
