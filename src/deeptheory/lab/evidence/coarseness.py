"""Which of several pieces of evidence leaves most unseen."""

from collections.abc import Mapping

from deeptheory.lab.evidence.base import Judgement

__all__ = ["weakest"]

COARSEST = (("Trend",), ("Law", "Share"), ("Rate", "Limit"), ("Chance",), ("Distribution",), ("Bounded",),
            ("Inequality", "Chain"), ("Printed",), ("Identity",), ("Exact", "Counterexample"))  # fmt: skip
"""Kinds of evidence by how much they leave unseen; the resolutions of those that stand together compare."""

RANK = {kind: rank for rank, kinds in enumerate(COARSEST) for kind in kinds}


def weakest(judgements: Mapping[str, Judgement], kinds: Mapping[str, str]) -> str:
    """The name of the piece that leaves most unseen: of the coarsest kind, that of the largest resolution."""

    def strength(name: str) -> tuple[int, float]:
        unseen = judgements[name].resolution
        return RANK.get(kinds.get(name, ""), len(RANK)), 1.0 if unseen is None else -unseen

    return min(judgements, key=strength)
