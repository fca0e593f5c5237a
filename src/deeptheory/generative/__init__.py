"""Generative models: mixtures, variational bounds, flows, diffusions and adversarial games.

- `autoencoders`: variational autoencoders: Gaussian encoder and decoder, bounds on the likelihood, training.
- `density_models`: models beside each other on a law known in closed form; total mass.
- `diffusion_models`: noising in steps, the exact denoiser of a mixture, a learnt one, sampling back.
- `flows`: invertible maps to Gaussian noise and their exact densities: coupling layers, 1×1 convolutions, training.
- `likelihoods`: likelihood as a measure of fit and what it does not see: gaps, isotropic fits, spikes, atoms.
- `mixtures`: mixtures of Gaussians, fitted by expectation–maximization and by Pearson's moments.
- `structures`: principal components, nonnegative factors, topics, an orthogonal dictionary.
- `variational`: evidence lower bounds with their gaps, mean field, gradients through samples.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
