"""Language models: n-grams, attention, perplexity, decoding and preferences, exact on small sources.

- `alphabets`: texts as sequences of whole numbers.
- `character_models`: transformers that learn to continue a text, trained in one compiled loop.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
