"""Attribution: which training point, feature or pixel an answer of a network is owed to.

- `axioms`: efficiency, symmetry, linearity and null player as equations, and how many payment schemes obey them.
- `data_values`: what training points are worth: utilities of ridge regression and of nearest neighbours, and prices.
- `datamodels`: outputs regressed on which points were trained on, and the harmonic analysis that explains the fit.
- `influence`: how the loss at a test point moves with the weight of a training point, by inverse Hessian products.
- `inverse_products`: products with a damped inverse curvature: written out, by conjugate gradients, by Neumann series.
- `leave_one_out`: retraining without each point: in closed form for ridge regression, by Newton's method otherwise.
- `saliency`: credit of the coordinates of one input: gradients, integrated gradients, the game of its features.
- `shapley`: Shapley values of a game, exactly: by subsets, by orders, by dividends; Banzhaf values.
- `shapley_sampling`: Shapley values of large games from random orders or random sets, with stated intervals.
- `special_games`: games whose Shapley values need no enumeration: airports, weighted votes; and why votes are hard.
"""

from deeptheory.attribution.influence import influences as influences
from deeptheory.attribution.shapley import game_table as game_table, shapley_values as shapley_values
from deeptheory.attribution.shapley_sampling import (
    group_testing_estimate as group_testing_estimate,
    permutation_estimate as permutation_estimate,
)
from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
