"""Measuring alternatives side by side.

Every contender does the same work on the same fresh inputs, in turns, at several sizes; first call and steady state are
told apart; values are compared with ours; what is printed is ratios, with versions. Peers live in an environment of
their own, made on first use, and answer JSON lines, so that one run holds all.

With BENCHMARK_THREADS=1 in the environment all sides have one thread, and their clock is that of the processor's work.
"""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

FOLDER = Path(__file__).resolve().parent
THREADS = int(os.environ.get("BENCHMARK_THREADS", os.cpu_count() or 1))
if THREADS == 1:
    time.perf_counter = time.process_time
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["OMP_NUM_THREADS"] = "1"
OTHER_CLOCK = "import runpy, sys, time; time.perf_counter = time.process_time; runpy.run_path(sys.argv[1])"


@dataclass(frozen=True)
class Contender:
    """Someone who does the work: (size, seed) → (seconds, value); with `share` < 1 a part was run and scaled up."""

    name: str
    versions: str
    work: Callable[[int, int], tuple[float, Any]]
    share: Callable[[int], float] = lambda size: 1.0


@dataclass
class Times:
    """Seconds of one contender at one size: the first call, then the best of the others."""

    first: float = 0.0
    later: list[float] = field(default_factory=list)

    @property
    def steady(self) -> float:
        return min(self.later, default=self.first)


def compare(
    title: str, contenders: Sequence[Contender], sizes: Sequence[int], *, rounds: int = 3, tolerance: float
) -> str:
    """Run all contenders in turns and return a table; the first contender is ours."""
    times = {(c.name, size): Times() for c in contenders for size in sizes}
    for size in sizes:
        for turn in range(rounds + 1):
            ours = None
            for contender in contenders:
                seconds, value = contender.work(size, turn)
                record = times[contender.name, size]
                if turn == 0:
                    record.first = seconds
                else:
                    record.later.append(seconds)
                ours = value if ours is None else ours
                gap = float(np.max(np.abs(np.asarray(value) - np.asarray(ours)) / (np.abs(np.asarray(ours)) + 1e-12)))
                if gap > tolerance:
                    raise AssertionError(f"{contender.name} disagrees with us at size {size}: {gap:.2g} apart")
                print(
                    f"  {title}, size {size}, turn {turn}: {contender.name} {seconds:.2f} s",
                    file=sys.stderr,
                    flush=True,
                )
    return table(title, contenders, sizes, times)


def table(title: str, contenders: Sequence[Contender], sizes: Sequence[int], times: dict) -> str:
    """Markdown: seconds (first call, steady) and the ratio to ours."""
    lines = [f"### {title}", "", f"{machine()}; {threads()} each.", ""]
    lines += ["| size | who | first call | steady | ratio to ours |", "| ---: | --- | ---: | ---: | ---: |"]
    for size in sizes:
        ours = times[contenders[0].name, size].steady
        for contender in contenders:
            record = times[contender.name, size]
            scaled = "" if contender.share(size) == 1 else f" (from {contender.share(size):.0%} of the work)"
            lines.append(
                f"| {size} | {contender.name}{scaled} | {record.first:.2f} s | {record.steady:.3g} s "
                f"| {record.steady / ours:.2f} |"
            )
    lines += ["", "Versions: " + "; ".join(f"{c.name}: {c.versions}" for c in contenders) + ".", ""]
    return "\n".join(lines)


def threads() -> str:
    return "one thread, seconds of the processor" if THREADS == 1 else f"{THREADS} threads"


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


class Peer:
    """A process in another environment that does named work on request and answers with seconds and a value.

    `script` names its program where several share one environment.
    """

    def __init__(self, name: str, script: str | None = None) -> None:
        python = environment(name)
        path = FOLDER / "peers" / f"{script or name}_peer.py"
        settings = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
        program = ["-c", OTHER_CLOCK, str(path)] if THREADS == 1 else [str(path)]
        self.process = subprocess.Popen(
            [str(python), *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=settings
        )
        self.versions = self._read()["versions"]

    def _read(self) -> dict[str, Any]:
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise RuntimeError(f"the peer ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, **request: Any) -> tuple[float, Any]:
        self.process.stdin.write(json.dumps(request) + "\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        answer = self._read()
        return answer["seconds"], np.asarray(answer["value"])

    def close(self) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()


def environment(name: str) -> Path:
    """The Python of a peer's own environment, made from its pinned requirements on first use."""
    folder = FOLDER.parent / f".venv-{name}"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        print(f"making the environment of {name} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        requirements = FOLDER / "peers" / f"{name}.txt"
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)], check=True)
        alone = FOLDER / "peers" / f"{name}.alone.txt"
        if alone.exists():  # packages whose own requirements would not be used, or would not fit together
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(alone)], check=True)
        (folder / ".ready").touch()
    return python


def refuse(sentence: str) -> NoReturn:
    """End with one sentence and status 2, as the commands do with bad input."""
    print(sentence, file=sys.stderr)
    sys.exit(2)


def needed(path: Path, remedy: str) -> Path:
    """A file that a benchmark reads, refused with the remedy where there is none."""
    return path if path.is_file() else refuse(f"no file {path}: {remedy}")


def mnist_file(named: str | None = None) -> Path:
    """MNIST: the file that is named, or mnist.npz in the folder that DEEPTHEORY_DATA names."""
    path = Path(named) if named else Path(os.environ.get("DEEPTHEORY_DATA", ".")) / "mnist.npz"
    return needed(path, "name the folder of mnist.npz in DEEPTHEORY_DATA")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result of a call that waits for its own result."""
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value
