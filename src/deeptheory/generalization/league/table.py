"""What the league of bounds is made of: one entry for each bound, and the table of them."""

from dataclasses import dataclass, field
from itertools import zip_longest

from deeptheory.foundations.binomial import clopper_pearson_lower, clopper_pearson_upper

__all__ = ["Entry", "League"]


@dataclass(frozen=True)
class Entry:
    """One bound on the risk of `of`: R ≤ value with probability 1 − δ if `unmet` is empty; `guessing` errs 1 − 1/k.

    An entry without a value says in `unmet` what it would need. `detail` says what the value is made of, line by line.
    """

    name: str
    where: str
    value: float | None
    unmet: tuple[str, ...] = ()
    of: str = "the network"
    invariant: str = ""
    guessing: float = 1.0
    detail: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return self.value is not None and not self.unmet

    @property
    def vacuous(self) -> bool:
        return self.value is not None and self.value >= 1

    def verdict(self) -> str:
        """What the value is worth, in a word."""
        if self.value is None:
            return self.unmet[0]
        if not self.valid:
            return "not a bound here"
        return "vacuous" if self.vacuous else "worse than guessing" if self.value >= self.guessing else "says something"

    def shown(self) -> str:
        """The value, marked when an assumption is not met."""
        if self.value is None:
            return "—"
        if 0.9995 <= self.value < 1:
            number = "> 0.999"
        elif self.value < 10:
            number = f"{self.value:.3f}"
        else:
            number = f"{self.value:,.0f}" if self.value < 1e6 else f"{self.value:.0e}"
        return number if self.valid else f"({number})"


@dataclass(frozen=True)
class League:
    """The bounds of one network, best valid one first, with its errors on training and test data."""

    entries: list[Entry]
    train_error: float
    test_error: float
    samples: int
    tested: int
    delta: float
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Test error minus training error: an estimate of the true gap, which nobody knows."""
        return self.test_error - self.train_error

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(f"no bound is called {name!r}; there are {', '.join(entry.name for entry in self.entries)}")

    def groups(self) -> dict[str, list[Entry]]:
        """The entries by what they are: bounds, numbers that are no bounds here, and bounds that need more."""
        parts = {
            "bounds": [e for e in self.entries if e.valid],
            "no bounds here: an assumption is not met": [e for e in self.entries if e.unmet and e.value is not None],
            "bounds that need more": [e for e in self.entries if e.value is None],
        }
        return {heading: entries for heading, entries in parts.items() if entries}

    def summary(self) -> list[str]:
        """The errors of the network in words, a line for each."""
        wrong = round(self.test_error * self.tested)
        low = clopper_pearson_lower(wrong, self.tested, self.delta / 2)
        high = clopper_pearson_upper(wrong, self.tested, self.delta / 2)
        return [
            f"training error {self.train_error:.4f} on {self.samples:,} examples",
            f"test error {self.test_error:.4f} on {self.tested:,} examples, "
            f"true error between {low:.4f} and {high:.4f} with confidence {1 - self.delta:g}",
            f"gap {self.gap:.4f}, an estimate: the true one lies between {low - self.train_error:.4f} and "
            f"{high - self.train_error:.4f} with the same confidence",
            f"each bound by itself holds with probability {1 - self.delta:g}",
        ]

    def __str__(self) -> str:
        rows: list[tuple[str, str, str]] = []
        for heading, entries in self.groups().items():
            rows += [("", "", ""), (heading, "risk at most" if entries[0].value is not None else "", "")]
            for entry in entries:
                names = [f"  {entry.name}"]
                if entry.of != "the network" and entry.value is not None:
                    names.append(f"    of {entry.of}")
                said = [*(entry.unmet or (entry.verdict(),)), *entry.detail]
                values = [entry.shown()] if entry.value is not None else []
                rows += zip_longest(names, values, said, fillvalue="")
        wide = [max(len(row[column]) for row in rows) for column in range(2)]
        about = [f"{name}: {text}" for name, text in self.facts.items()]
        lines = [f"{name:<{wide[0]}}  {value:>{wide[1]}}  {said}".rstrip() for name, value, said in rows]
        return "\n".join([*self.summary(), *about, *lines])
