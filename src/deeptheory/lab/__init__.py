"""The laboratory: claims, evidence, verdicts, controls, falsification, runs. It knows no particular claim."""

from typing import TYPE_CHECKING

from deeptheory.foundations.packages import promised

if TYPE_CHECKING:
    from deeptheory.lab import (
        numbers as numbers,
        pictures as pictures,
    )
    from deeptheory.lab._claim import (
        Claim as Claim,
        assume as assume,
        claim as claim,
    )
    from deeptheory.lab._falsify import (
        Falsification as Falsification,
        falsify as falsify,
    )
    from deeptheory.lab.evidence import (
        Bounded as Bounded,
        Chain as Chain,
        Chance as Chance,
        Counterexample as Counterexample,
        Distribution as Distribution,
        Evidence as Evidence,
        Exact as Exact,
        Identity as Identity,
        Inequality as Inequality,
        Judgement as Judgement,
        Law as Law,
        Limit as Limit,
        Printed as Printed,
        Rate as Rate,
        Share as Share,
        Trend as Trend,
    )
    from deeptheory.lab.numbers import (
        parts as parts,
        rounding as rounding,
    )
    from deeptheory.lab.outcome import (
        Run as Run,
    )
    from deeptheory.lab.parameters import (
        Count as Count,
        Positive as Positive,
        Probability as Probability,
        Sizes as Sizes,
        Trials as Trials,
    )
    from deeptheory.lab.run import (
        execute as execute,
    )
    from deeptheory.lab.spaces import (
        Integers as Integers,
        Reals as Reals,
    )

# Naming a parameter or reading the catalogue does not import JAX.
__getattr__, __dir__, __all__ = promised(__name__, __file__)
