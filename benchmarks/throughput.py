"""Throughput of the catalogue: claims per minute, and what share of the time is import, compilation, and the runs."""

import os
import tempfile
import time

from benchmarks.harness import machine
from deeptheory.lab.checking import checked, tasks, workers
from deeptheory.lab.entries import catalogue


def main() -> str:
    """Check everything twice on fresh workers: with nothing compiled yet, and with the programs of the first time."""
    lines = ["### Throughput of the catalogue", "", f"{machine()}; one worker a core.", ""]
    lines += ["| compiled programs | claims | minutes | claims a minute | import | compile | run |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DEEPTHEORY_HOME"] = folder
        todo = tasks(list(catalogue().claims.values()))
        for label in ("none", "on disk"):
            start = time.perf_counter()
            with workers(os.cpu_count() or 1) as pool:
                runs = [outcome for _, outcome, _ in checked(todo, pool) if not isinstance(outcome, Exception)]
            minutes = (time.perf_counter() - start) / 60
            parts = {part: sum(run.timing[part] for run in runs) for part in ("import", "compile", "run")}
            total = sum(parts.values())
            shares = " | ".join(f"{parts[part] / total:.0%}" for part in ("import", "compile", "run"))
            lines.append(f"| {label} | {len(runs)} | {minutes:.1f} | {len(runs) / minutes:.0f} | {shares} |")
    return "\n".join([*lines, ""])
