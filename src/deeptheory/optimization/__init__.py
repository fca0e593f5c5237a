"""Optimization: methods and their runs, rates, saddles, and the landscapes to try them on.

- `runs`: any method of optax, or of optax's shape, on any function, as one scan; where a run fails.
- `methods`: what optax lacks: Nesterov's method with growing momentum, AdaGrad by norms and with a lag, Newton, fixed
  preconditioners, variance reduction, the plateau rule.
- `promises`: inequalities that hold at every step of a run by theory: how tight they are, and where the first breaks.
- `descent`: how fast gradient descent with a fixed step is on quadratic, convex and other smooth functions.
- `conditioning`: gradient descent on a quadratic in its eigenbasis, and how many steps its condition number costs.
- `quadratic_models`: the parabola that a step minimizes, Newton's or with a cheaper matrix, and what that matrix does
  to the condition number.
- `continuous_time`: gradient flow, the limit of short steps.
- `momentum`: the heavy ball in closed form, the oscillator it becomes, and Nesterov's guarantee.
- `stochastic`: batches of examples, how much their gradients vary, and how fast they lead to a stationary point.
- `noise_moments`: stochastic gradient descent on least squares in the mean square, exactly: plateaus, averages, and
  corrected gradients.
- `adaptive`: what is proved of AdaGrad.
- `smoothness`: smoothness at a point, along a run and over a region.
- `saddle`: leaving strict saddles: gradient descent that shakes itself when it stands still.
- `escape`: where a run is stuck near a saddle, how thin that region is, and how long leaving takes.
- `losses`: losses of single predictions, and the risk of any model on data as a function to descend on.
- `convex_models`: support vector machines, solved with a certificate.
- `hardness`: functions that no method minimizes fast.
- `landscapes`: functions to descend on whose smoothness, convexity and minimum are known in closed form.
- `empirical_risk`: training as a flow on the empirical risk: how fast it falls, where the Hessian points down, which
  limit applies.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
