"""Reasoning: in-context learning, chains of thought and their verifiers, as programs one can run.

- `in_context`: layers of linear attention that are steps of gradient descent on the prompt.
- `skill_tables`: what is learnt by heart from answers, and from steps.
- `step_supervision`: lines of thought on parities, for a transformer shown the answer only, or every step.
- `table_transformer`: a transformer of fixed size that thinks aloud at any length.
- `traces`: chains of thought step by step, for arithmetic, dynamic programming and linear equations, and their replay.
- `verifiers`: chances that chains of noisy steps end right, with tries and filters.
- `word_problems`: stories with their steps, formats of prompts, and a verifier that reads equations.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
