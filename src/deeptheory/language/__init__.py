"""Language models: n-grams, attention, perplexity, decoding and preferences, exact on small sources."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
