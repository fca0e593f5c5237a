"""Normalization: networks whose loss does not see the size of their weights, and what becomes of descent on them.

- `any_scale`: how soon gradient descent with weight decay finds a small gradient, from any size of the start.
- `decayed_descent`: gradient descent with weight decay, and the growing learning rates that do the same without it.
- `equilibrium`: the size of the weights at which weight decay and gradients balance.
- `homogeneity`: how a function answers when its parameters are multiplied by a number.
- `normalizers`: layer, group and batch normalization, and networks made with them.
- `product_models`: logistic regression whose one weight is a product, and the rates at which it explodes.
- `spheres`: scale-invariant functions whose smoothness on the unit sphere is known, and what it bounds.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
