"""Foundations: what several rooms share. They know no room.

- `activations`: ReLU, threshold and sigmoid, for NumPy and JAX alike, and the slope of any activation.
- `arrays`: arrays of NumPy and JAX alike: their types, as signatures name them, and which library one belongs to.
- `balls`: the volume of a ball in any dimension.
- `binomial`: exact confidence limits of a probability from counts (Clopper and Pearson 1934).
- `bits`: all strings of so many bits: subsets, coalitions, rows of signs.
- `callbacks`: what a NumPy function finds out about traced arrays, in double precision on any thread.
- `concentration`: concentration of sums of independent variables: the classical tail bounds, and the exact tails they
  are held against.
- `cross_entropy`: softmax and cross-entropy from the logits, for one label, soft labels and two classes.
- `entrances`: doors: a public function gets what its signature says, or refuses it in one sentence with name, value and
  wish.
- `entropies`: entropy and relative entropy of laws on a finite set.
- `filters`: estimators that act on the singular values of a design: filters, and the matrices they make.
- `flows`: differential equations: by equal steps under `jit`, `vmap` and `grad`, or on the host in double precision,
  with an end to patience, stiff ones with derivatives.
- `guards`: doors: a number outside the range a formula is true for is refused in one sentence that names it and the
  range.
- `hermite`: hermite polynomials: the basis of functions of a standard normal.
- `krylov`: Krylov spaces of a symmetric matrix that is known by its products, grown one product at a time.
- `margin_losses`: losses of the margin: hinge, ramp, logistic and exponential, those with slow tails among them.
- `packages`: packages that open as one walks in: a module or topic of a room is imported when it is first named.
- `randomness`: random numbers: threefry keys for everything JAX draws, one Philox generator per key for data of any
  size.
- `shapes`: shapes as signatures write them, "n d" or "*batch n", compared with the shapes that came.
- `spheres`: rules that replace the mean over all directions by a sum over finitely many, without error.
- `training`: a method of optax on a loss, all steps in one compiled loop.
- `wishes`: what an annotation asks of a value: its kind, its shape, and that it be finite; used by `doors`.
"""
