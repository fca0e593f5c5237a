"""Every bound refuses a number it is not true for, in one sentence with the name of the argument and its range."""

import numpy as np
import pytest

from deeptheory.foundations import concentration as sums
from deeptheory.generalization.capacity import covers, growth, rademacher_bounds as rademacher, stability, vc_bounds
from deeptheory.generalization.capacity.finite_classes import finite_class_deviation, log_union_tail, union_deviation
from deeptheory.generalization.concentration import martingales
from deeptheory.generalization.interpolation import ridge_risk, ridgeless
from deeptheory.generalization.pac_bayes import bounds as pac_bayes, comparison_bounds as compared, information
from deeptheory.generalization.pac_bayes.description_length import occam_bound
from deeptheory.kernels.lazy import lazy_bounds
from deeptheory.robustness import smoothing

ONES = np.ones(3)
POSTERIOR = (dict(empirical=0.1, divergence=1.0, samples=9, delta=0.1), dict(empirical=-1, divergence=-1, delta=5))
BUDGET = (dict(divergence=1.0, samples=9, delta=0.1), dict(divergence=-1, delta=0))
DOORS = [
    # A bound, arguments that it takes, and for some of them a value that it must not take.
    (compared.catoni_bound, POSTERIOR[0] | dict(temperature=1.0), POSTERIOR[1] | dict(samples=0, temperature=0)),
    (compared.simplified_pac_bayes_bound, POSTERIOR[0], POSTERIOR[1] | dict(samples=2)),
    (compared.weaker_pac_bayes_bound, POSTERIOR[0], POSTERIOR[1] | dict(samples=0)),
    (pac_bayes.maurer_budget, BUDGET[0], BUDGET[1] | dict(samples=0)),
    (pac_bayes.langford_seeger_budget, BUDGET[0], BUDGET[1] | dict(samples=1)),
    (pac_bayes.mcallester_bound, BUDGET[0] | dict(empirical_risk=0.1), BUDGET[1] | dict(samples=1, empirical_risk=2)),
    (pac_bayes.maurer_samples, dict(divergence=1.0, budget=0.1, delta=0.1), dict(divergence=-1, budget=0, delta=2)),
    (pac_bayes.pac_bayes_kl, dict(empirical_risk=0.1, budget=0.1), dict(empirical_risk=-0.1, budget=-1)),
    (pac_bayes.pac_bayes_pinsker, dict(empirical_risk=0.1, budget=0.1), dict(empirical_risk=1.1, budget=-1)),
    (sums.markov_bound, dict(mean=1.0, threshold=2.0), dict(threshold=0)),
    (sums.chebyshev_bound, dict(variance=1.0, deviation=2.0), dict(variance=-1, deviation=0)),
    (sums.log_chernoff_small, dict(mean=1.0, excess=1.0), dict(mean=-1, excess=5)),
    (sums.log_chernoff_upper, dict(mean=1.0, excess=5.0), dict(mean=-1, excess=-1)),
    (sums.log_chernoff_lower, dict(mean=1.0, shortfall=1.0), dict(mean=-1, shortfall=1.5)),
    (sums.log_hoeffding, dict(deviation=1.0, widths=ONES), dict(deviation=-1)),
    (sums.hoeffding_radius, dict(samples=9, delta=0.1), dict(samples=0, delta=2, width=0, log_means=-1)),
    (sums.hoeffding_samples, dict(radius=0.1, delta=0.1), dict(radius=0, delta=2, width=0)),
    (sums.hoeffding_confidence, dict(samples=9, radius=0.1), dict(samples=0, radius=0, width=0)),
    (sums.log_bernstein, dict(deviation=1.0, variance=1.0, bound=1.0), dict(deviation=-1, variance=-1, bound=-1)),
    (sums.gaussian_small_ball, dict(radius=2.0, sigma=2.0), dict(radius=3, sigma=0)),
    (sums.berry_esseen_bound, dict(third=1.0, samples=9), dict(third=0.5, samples=0)),
    (sums.square_exponential_bound, dict(rate=1.0, proxy=0.25), dict(rate=2, proxy=0)),
    (sums.bernoulli_proxy, dict(probability=0.1), dict(probability=1)),
    (martingales.log_azuma, dict(deviation=1.0, bounds=ONES), dict(deviation=-1)),
    (martingales.log_azuma_ranges, dict(deviation=1.0, widths=ONES), dict(deviation=-1)),
    (martingales.log_mcdiarmid, dict(deviation=1.0, differences=ONES), dict(deviation=-1)),
    (occam_bound, dict(bits=3, samples=9, delta=0.1), dict(bits=-1, samples=-1, delta=2)),
    (union_deviation, dict(samples=9, hypotheses=3, delta=0.1), dict(samples=0, hypotheses=0, delta=1.5)),
    (finite_class_deviation, dict(samples=9, hypotheses=3, delta=0.1), dict(samples=0, hypotheses=0, delta=1.5)),
    (log_union_tail, dict(deviation=0.1, samples=9, hypotheses=3), dict(deviation=-1, samples=0, hypotheses=0)),
    (rademacher.complexity_deviation, dict(complexity=0.1, samples=9, delta=0.1), dict(samples=0, delta=3, width=0)),
    (rademacher.empirical_complexity_deviation, dict(complexity=0.1, samples=9, delta=0.1), dict(samples=0, delta=3)),
    (rademacher.vc_complexity, dict(samples=9, dimension=3), dict(samples=2, dimension=0)),
    (rademacher.frobenius_network_complexity, dict(samples=9, layers=2, radius=1.0), dict(samples=0, radius=0)),
    (vc_bounds.log_sauer, dict(points=5, dimension=2), dict(points=0, dimension=0)),
    (vc_bounds.growth_deviation, dict(samples=9, log_growth=1.0, delta=0.1), dict(samples=0, log_growth=-1, delta=2)),
    (vc_bounds.sauer_deviation, dict(samples=9, dimension=2, delta=0.1), dict(samples=0, dimension=0, delta=2)),
    (vc_bounds.vc_dimension_deviation, dict(samples=9, dimension=2, delta=0.1), dict(samples=0, dimension=0, delta=2)),
    (vc_bounds.vc_deviation, dict(samples=9, dimension=2, delta=0.1), dict(samples=1, dimension=0, delta=2)),
    (vc_bounds.samples_for, dict(gap=0.5, dimension=5, delta=0.05), dict(gap=0, dimension=0, delta=0)),
    (growth.sauer_sum, dict(points=5, dimension=2), dict(points=-1, dimension=-1)),
    (growth.sauer_power, dict(points=5, dimension=2), dict(points=1, dimension=0)),
    (covers.cover_size, dict(radius=0.5, dimension=2), dict(radius=-1, dimension=0)),
    (
        covers.cover_deviation,
        dict(lipschitz=1.0, radius=0.1, dimension=2, samples=9, delta=0.1),
        dict(lipschitz=-1, radius=0, dimension=0, samples=0, delta=2),
    ),
    (
        covers.normed_class_deviation,
        dict(change=0.1, radius=0.1, dimension=2, samples=9),
        dict(change=-1, radius=2, dimension=0, samples=0),
    ),
    (
        stability.convex_sgd_stability,
        dict(lipschitz=1.0, step_sizes=ONES, samples=9),
        dict(lipschitz=0, step_sizes=-ONES, samples=0),
    ),
    (stability.bounded_loss_stability, dict(largest=1.0, steps=3, samples=9), dict(largest=-1, steps=-1, samples=0)),
    (
        stability.nonconvex_sgd_stability,
        dict(lipschitz=1.0, smoothness=1.0, scale=1.0, steps=3, samples=9),
        dict(lipschitz=0.0, smoothness=0.0, scale=0.0, steps=0, samples=1),
    ),
    (information.information_bound, dict(information=1.0, samples=9), dict(information=-1, samples=0, proxy=-1)),
    (ridgeless.gaussian_bias_variance, dict(samples=9, features=3), dict(samples=0, features=0, signal=-1, noise=-1)),
    (ridgeless.limiting_bias_variance, dict(gamma=0.5, signal=1.0, noise=1.0), dict(gamma=0, signal=-1, noise=-1)),
    (ridge_risk.optimal_ridge_risk, dict(gamma=0.5, signal=1.0, noise=1.0), dict(gamma=0.0, signal=-1.0, noise=-1.0)),
    (lazy_bounds.entry_tolerance, dict(width=9, samples=3, delta=0.1), dict(delta=2)),
    (lazy_bounds.concentration_tolerance, dict(width=9, samples=3, delta=0.1), dict(width=0, samples=1, delta=2)),
    (
        smoothing.clopper_pearson_lower,
        dict(successes=3, trials=9, delta=0.1),
        dict(successes=10, trials=0, delta=2.0),
    ),
    (smoothing.certified_radius, dict(top=0.8, runner_up=0.2, beta=1.0), dict(top=2, runner_up=-1, beta=0)),
]
REFUSED = [
    pytest.param(bound, good, name, value, id=f"{bound.__name__}-{name}")
    for bound, good, refused in DOORS
    for name, value in refused.items()
]


@pytest.mark.parametrize(("bound", "good", "name", "value"), REFUSED)
def test_numbers_out_of_range_are_refused_by_name(bound, good, name, value):
    assert np.all(np.isfinite(np.asarray(bound(**good))))
    value = value if isinstance(good.get(name, 1.0), int | np.ndarray) else float(value)
    with pytest.raises(ValueError, match=rf"^{name} must (be positive|be at least|lie in) ?.*, got "):
        bound(**(good | {name: value}))
