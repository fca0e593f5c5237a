"""Claims: one checkable statement each, with what it needs, the items it serves and the rivals it must refute."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deeptheory.lab.evidence import Evidence
from deeptheory.lab.parameters import Parameter, Settings, parameters_of, settings as resolve
from deeptheory.lab.pictures import Picture
from deeptheory.lab.spaces import Space

__all__ = ["AssumptionNotMet", "Claim", "Control", "assume", "claim"]

Pieces = dict[str, Evidence]


class AssumptionNotMet(Exception):
    """A hypothesis of the claim does not hold on this instance, so the run can say nothing."""


def assume(condition: Any, sentence: str) -> None:
    """Stop a claim, inconclusively, unless a hypothesis holds on the instance at hand."""
    if not bool(condition):
        raise AssumptionNotMet(sentence)


@dataclass(frozen=True)
class Control:
    """A rival statement that must come out refuted: evidence re-read (`transform`), or the claim run otherwise."""

    name: str
    erratum: str | None = None
    of: str | None = None
    transform: Callable[..., Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    over: Mapping[str, Space] | None = None


@dataclass(eq=False)
class Claim:
    """One statement as a function that runs its experiment and returns evidence.

    Calling it returns the raw evidence; `check` judges it beside its controls; `sweep` and `falsify` do what they say.
    """

    function: Callable[..., Any]
    says: str
    items: dict[str, tuple[str, ...]]
    needs: str = ""
    scale: str = ""
    full: Mapping[str, Any] = field(default_factory=dict)
    over: Mapping[str, Space] | Callable[..., Mapping[str, Space]] | None = None
    each: Literal["vmap", "loop", "array"] = "vmap"
    draws: int = 256
    generations: int = 12
    symbols: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    notice: str = ""
    explore: Mapping[str, tuple] = field(default_factory=dict)
    consistency: tuple[str, ...] = ()
    controls: list[Control] = field(default_factory=list)
    drawing: Callable[..., Picture] | None = None
    exact: Callable[..., Any] | None = None
    parameters: dict[str, Parameter] = field(init=False)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.function)
        self.parameters = parameters_of(self.function, skip=self.instance_names | {"key"}, full=self.full)
        if alone := [item for item, served in self.items.items() if set(served) <= set(self.consistency)]:
            raise TypeError(f"{self.name}: two formulas of ours that agree cannot carry {', '.join(alone)} alone")
        if unknown := set(self.explore) - set(self.parameters):
            raise TypeError(f"{self.name}: explore= names {sorted(unknown)}, which are not parameters")
        if len(self.explore) > 2 or any(len(values) < 2 for values in self.explore.values()):
            raise TypeError(f"{self.name}: explore= takes one or two parameters with two or more values each")
        self.explore = {
            name: tuple(self.parameters[name].check(value) for value in values) for name, values in self.explore.items()
        }

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def module(self) -> str:
        return self.function.__module__

    @property
    def subject(self) -> str:
        """The room: the first folder below `claims`, whatever topics it is divided into."""
        parts = self.module.split(".")
        if "claims" in parts[:-2]:
            return parts[parts.index("claims") + 1]
        return parts[-2] if len(parts) > 1 else "scratch"

    @property
    def theme(self) -> str:
        return self.module.split(".")[-1]

    @property
    def takes_key(self) -> bool:
        return "key" in inspect.signature(self.function).parameters

    @property
    def instance_names(self) -> set[str]:
        if self.over is None:
            return set()
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        entries = inspect.signature(self.function).parameters.values()
        return {entry.name for entry in entries if entry.kind in positional}

    def spaces(self, settings: Mapping[str, Any], over: Mapping[str, Space] | None = None) -> dict[str, Space]:
        """The instance space at these settings, with a control's changes put in place."""
        if self.over is None:
            raise TypeError(f"{self.name} declares no instance space to search")
        wanted = {}
        if callable(self.over):
            wanted = {name: settings[name] for name in inspect.signature(self.over).parameters}
        base = self.over(**wanted) if callable(self.over) else self.over
        return {**base, **(over or {})}

    def settings(self, given: Mapping[str, Any], *, full: bool = False) -> Settings:
        """All parameters of a run, checked."""
        return resolve(self.parameters, given, full=full)

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return self.function(*args, **settings)

    # Writing a claim -----------------------------------------------------------------------------------------------

    def control(
        self,
        name: str,
        *,
        erratum: str | None = None,
        of: str | None = None,
        over: Mapping[str, Space] | None = None,
        **settings: Any,
    ) -> Callable[[Callable], Callable]:
        """Add a rival. With settings or `over` the claim is run anew; as a decorator, evidence is re-read.

        `erratum` names the erratum whose printed form this is ("A2.26a"); `of` the piece of evidence it concerns.
        """
        if any(existing.name == name for existing in self.controls):
            raise ValueError(f"{self.name} already has a control named {name!r}")
        if settings or over is not None:
            unknown = set(settings) - set(self.parameters)
            if unknown:
                raise TypeError(f"{self.name}: the control {name!r} sets {sorted(unknown)}, which are not parameters")
            self.controls.append(Control(name, erratum, of, settings=settings, over=over))
            return lambda function: function

        def register(function: Callable) -> Callable:
            self.controls.append(Control(name, erratum, of, transform=function))
            return function

        return register

    def picture(self, function: Callable[..., Picture]) -> Callable[..., Picture]:
        """Give the picture of a run: a function of the pieces of evidence by name, or of these and the settings.

        Its docstring is the caption. What pictures are made of is in `deeptheory.lab.pictures`.
        """
        if not function.__doc__:
            raise TypeError(f"{self.name}: a picture needs a docstring, which is its caption")
        self.drawing = function
        return function

    def verify(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give the exact check of a found violation: instance in rationals → (quantity, bound, how)."""
        self.exact = function
        return function

    # Using a claim -------------------------------------------------------------------------------------------------

    def check(self, *, seed: int = 0, full: bool = False, **settings: Any):
        """Run the claim and its controls here and now, and return the run."""
        from deeptheory.lab.run import execute

        return execute(self, seed=seed, full=full, settings=settings)

    def sweep(self, *, seeds: int = 1, progress: bool = False, **grids: Any):
        """Run the claim over a grid of settings and seeds; returns an xarray DataTree."""
        from deeptheory.lab.sweeps import sweep

        return sweep(self, grids, seeds=seeds, progress=progress)

    def falsify(self, *, budget: float = 10.0, seed: int = 0, control: str | None = None, **settings: Any):
        """Search the instance space for a violation, shrink it and verify it exactly."""
        from deeptheory.lab._falsify import falsify

        return falsify(self, budget=budget, seed=seed, control=control, settings=settings)


def claim(
    *,
    items: Mapping[str, str | tuple[str, ...]],
    says: str,
    needs: str = "",
    scale: str = "",
    full: Mapping[str, Any] | None = None,
    over: Mapping[str, Space] | Callable[..., Mapping[str, Space]] | None = None,
    each: Literal["vmap", "loop", "array"] = "vmap",
    draws: int = 256,
    generations: int = 12,
    symbols: Mapping[str, str] | None = None,
    why: str = "",
    notice: str = "",
    explore: Mapping[str, tuple] | None = None,
    consistency: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Claim]:
    """Declare a function as a claim.

    Args:
        items: which piece of evidence checks which item of the books; `""` where the claim returns one piece.
        says: the statement in our own words; mathematics between dollar signs.
        needs: its hypotheses.
        scale: where the books' experiment is larger than ours, "printed …; here …".
        full: the settings of `--full`.
        over: the instance space of a for-all statement, or a function of parameters that returns it. The
            claim is then a function of one instance (positional arguments) and returns evidence about it.
        each: how a batch of instances is evaluated: `vmap` (JAX, compiled once), `loop` (plain Python), or `array`
            (the function takes arrays with one entry an instance).
        draws, generations: how many instances are drawn, and how many generations of that size the search adds.
        symbols: what each symbol of the statement stands for, LaTeX without dollar signs → words.
        why: the idea of the proof in two to five sentences of our own.
        notice: what there is to see in the picture.
        explore: one or two parameters with the values worth moving them to.
        consistency: the pieces of evidence that compare two formulas of this package with each other. That is worth
            knowing, but no item rests on such pieces alone.
    """

    def decorate(function: Callable[..., Any]) -> Claim:
        served = {item: (pieces,) if isinstance(pieces, str) else tuple(pieces) for item, pieces in items.items()}
        return Claim(
            *(function, says, served, needs, scale, full or {}, over, each, draws, generations),
            *(symbols or {}, why, notice, explore or {}, consistency),
        )

    return decorate
