"""Language models: n-grams, attention, perplexity, decoding and preferences, exact on small sources.

- `alphabets`: texts as sequences of whole numbers.
- `character_models`: transformers that learn to continue a text, trained in one compiled loop.
- `cloze`: questions with choices about the next word, and what an excess entropy says about them.
- `decoding_rules`: perplexities of what greedy, top-k, nucleus and tempered decoding write, without sampling.
- `next_word`: log-bilinear models, attention alone and its cost, the loss of instruction tuning.
- `ngrams`: counted and smoothed models, and perplexity.
- `preferences`: Bradley–Terry rewards, their likelihood, and the policies of RLHF and DPO.
- `sources`: Markov chains of any order, their entropy and the excess of a model.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
