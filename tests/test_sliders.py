"""Sliders are made within the time that is given for them; what is stored already costs none."""

from types import SimpleNamespace

import pytest

from deeptheory.cli import running
from deeptheory.lab import checking, exploring


class Pool:
    """Workers that do nothing but remember that they were sent home."""

    def __init__(self):
        self.dropped = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def shutdown(self, wait, *, cancel_futures):
        self.dropped = cancel_futures


@pytest.mark.parametrize(("seconds", "made"), [(0, []), (2.5, ["a", "b", "c"]), (60, list("abcde"))])
def test_making_sliders_ends_with_its_time(monkeypatch, tmp_path, seconds, made):
    pool, clock = Pool(), iter(range(100))
    todo = [SimpleNamespace(key=key, settings={"width": 1}, entry=SimpleNamespace(name="claim")) for key in "abcde"]
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))  # a second a look
    monkeypatch.setattr(checking, "workers", lambda jobs: pool)
    monkeypatch.setattr(checking, "checked", lambda tasks, pool, store: ((task, "run", False) for task in tasks))
    monkeypatch.setattr(exploring, "wanted", lambda runs, claims, store: ({"stored": "run"}, todo))
    monkeypatch.setattr(exploring, "gathered", lambda runs, claims, found: found)
    found = running._explored([], seconds, 2, tmp_path / "runs.sqlite")
    assert list(found) == ["stored", *made] and pool.dropped == (0 < len(made) < 5)
