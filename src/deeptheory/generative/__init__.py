"""Generative models: mixtures, variational bounds, flows, diffusions and adversarial games.

- `adversarial_networks`: generator against discriminator: the objective with a measuring function, its optima on
  finite laws, and training.
- `autoencoders`: variational autoencoders: Gaussian encoder and decoder, bounds on the likelihood, training.
- `density_models`: models beside each other on a law known in closed form; total mass.
- `diffusion_models`: noising in steps, the exact denoiser of a mixture, a learnt one, sampling back.
- `divergences`: f-divergences of laws on a finite set, and the critic that attains each.
- `finite_generators`: generators of finitely many points: as nets, and as laws that a bounded discriminator cannot
  tell from the real one.
- `flows`: invertible maps to Gaussian noise and their exact densities: coupling layers, 1×1 convolutions, training.
- `games`: two-player zero-sum games: their equilibria in matrices, and what gradient play does to a payoff.
- `likelihoods`: likelihood as a measure of fit and what it does not see: gaps, isotropic fits, spikes, atoms.
- `mixtures`: mixtures of Gaussians, fitted by expectation–maximization and by Pearson's moments.
- `probability_metrics`: integral probability metrics: what a class of test functions sees of two laws.
- `probes`: linear probes of a representation, trained on few labels.
- `sample_quality`: what samples show without a density: how well they are told from data, and how sharp images are.
- `structures`: principal components, nonnegative factors, topics, an orthogonal dictionary.
- `supports`: how many different things a generator makes: the birthday paradox, exactly, and the test that rests on
  it.
- `variational`: evidence lower bounds with their gaps, mean field, gradients through samples.
- `word_embeddings`: embeddings of words and documents from counts: latent semantic indexing, skip-gram.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
