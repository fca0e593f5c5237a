"""Attribution: which training point, feature or pixel an answer of a network is owed to."""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
