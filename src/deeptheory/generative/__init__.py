"""Generative models: mixtures, variational bounds, flows, diffusions and adversarial games.

- `adversarial_networks`: generator against discriminator: the objective with a measuring function, its optima on
  finite laws, and training.
- `divergences`: f-divergences of laws on a finite set, and the critic that attains each.
- `finite_generators`: generators of finitely many points: as nets, and as laws that a bounded discriminator cannot
  tell from the real one.
- `games`: two-player zero-sum games: their equilibria in matrices, and what gradient play does to a payoff.
- `probability_metrics`: integral probability metrics: what a class of test functions sees of two laws.
- `probes`: linear probes of a representation, trained on few labels.
- `supports`: how many different things a generator makes: the birthday paradox, exactly, and the test that rests on
  it.
- `word_embeddings`: embeddings of words and documents from counts: latent semantic indexing, skip-gram.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
