"""Attention: what self-attention layers compute, and how tokens move through them."""

from deeptheory.attention.clusters import (
    attention_matrix,
    cluster_count,
    consensus_time,
    interaction_energy,
    kuramoto_velocity,
    pair_overlaps,
    random_tokens,
    token_flow,
    token_velocity,
)
from deeptheory.attention.equiangular import (
    equiangular_overlap,
    equiangular_time,
    equiangular_tokens,
    equiangular_velocity,
)

__all__ = [
    "attention_matrix",
    "cluster_count",
    "consensus_time",
    "equiangular_overlap",
    "equiangular_time",
    "equiangular_tokens",
    "equiangular_velocity",
    "interaction_energy",
    "kuramoto_velocity",
    "pair_overlaps",
    "random_tokens",
    "token_flow",
    "token_velocity",
]
