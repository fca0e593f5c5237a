"""Generalization: bounds, exact risks, and what they say about a network.

- `capacity`: capacity of a class: how much it can do on a sample, and what that bounds.
- `concentration`: concentration beyond sums of bounded variables.
- `interpolation`: interpolation: exact risks of methods that fit every point.
- `league`: all bounds on one network, the computation behind `deeptheory.league`.
- `networks`: bounds that read a network: its norms, margins and compressions, and what it memorizes.
- `pac_bayes`: PAC-Bayes, description length and information: what a learner may know of its sample.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
