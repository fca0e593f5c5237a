"""Regularization, explicit and implicit: what a way of training penalises.

- `masks`: dropout as multiplicative noise: masks of mean one, drawn or all listed, and means over them.
- `descents`: dropout as it is run: a fresh mask at every step of gradient descent, and weights kept within a norm.
- `sensing`: dropout in matrix sensing: the objective and the penalty that it adds.
- `factors`: factors of a matrix: the least dropout penalty among them, and the rotations that reach it.
- `shrinkage`: the optimum that dropout selects: singular values lowered by one common amount.
- `completion`: dropout in matrix completion: entries seen at random, the weighted trace norm, and what it bounds.
- `deep_regression`: dropout on the top hidden layer of a deep network: what it adds, and which neurons pay.
- `linear_regression`: linear regression with dropout of the inputs, by masks of their own or by one.
- `autoencoder`: the linear autoencoder with tied weights under dropout: value, slopes, optimum, ways down.
- `catalogue`: every critical point of that autoencoder, and the ways down from those not optimal.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
