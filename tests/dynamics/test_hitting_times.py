import numpy as np
import pytest

from deeptheory.dynamics.hitting_times import _chi_square_rule, hitting_survival, mean_hitting_time, mean_overlap
from deeptheory.dynamics.single_index import descent_time
from deeptheory.dynamics.sphere import overlap_chain
from deeptheory.foundations.hermite import hermite_link

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("degrees", "nodes"), [(1, 2), (4, 3), (998, 3), (7, 5)])
def test_the_chi_square_rule_has_all_moments_it_can_have(degrees, nodes):
    """k nodes integrate powers up to 2k − 1 exactly, and the next one not."""
    values, weights = _chi_square_rule(degrees, nodes)
    moments = [np.prod(degrees + 2.0 * np.arange(power)) for power in range(2 * nodes + 1)]
    found = [weights @ values**power for power in range(2 * nodes + 1)]
    np.testing.assert_allclose(found[:-1], moments[:-1], rtol=1e-10)
    assert found[-1] < moments[-1] * (1 - 1e-12)


@pytest.mark.parametrize(("degree", "step"), [(1, 0.2), (2, 0.1), (3, 0.015)])
def test_mean_hitting_time_is_the_mean_of_simulated_times(key, degree, step):
    link, settings = hermite_link(degree), {"dimension": 16, "step": step, "symmetric": degree == 2}
    times = overlap_chain(key, link, replicas=1000, **settings).times[0]
    solved = mean_hitting_time(link, **settings)
    assert times.mean() == pytest.approx(solved, abs=4 * times.std() / np.sqrt(1000))
    fine = mean_hitting_time(link, nodes=64, quadrature=40, **settings)
    assert solved == pytest.approx(fine, rel=5e-3)


def test_mean_hitting_time_between_levels_approaches_the_limiting_dynamics():
    link = hermite_link(1)
    solved = mean_hitting_time(link, dimension=3000, step=0.2, start=0.5, level=0.9) / 3000
    assert solved == pytest.approx(descent_time(link, 0.5, 0.9, step=0.2), rel=2e-3)


@pytest.mark.item("J11.10")
@pytest.mark.parametrize(("degree", "step"), [(1, 0.2), (2, 0.1), (3, 0.015)])
def test_survival_is_the_share_of_simulated_chains(key, degree, step):
    link, settings = hermite_link(degree), {"dimension": 16, "step": step, "symmetric": degree == 2}
    times = overlap_chain(key, link, replicas=2000, **settings).times[0]
    at = np.quantile(times, [0.1, 0.5, 0.9]).astype(int)
    share = np.array([(times > t).mean() for t in at])
    np.testing.assert_allclose(hitting_survival(link, at, **settings), share, atol=0.05)


def test_survival_adds_up_to_the_mean_time():
    settings = {"dimension": 16, "step": 0.2}
    survival = hitting_survival(hermite_link(1), np.arange(400), **settings)
    assert survival.sum() == pytest.approx(mean_hitting_time(hermite_link(1), **settings), rel=1e-3)


def test_mean_overlap_is_that_of_simulated_chains(key):
    link, settings = hermite_link(1), {"dimension": 32, "step": 0.3}
    run = overlap_chain(key, link, replicas=4000, max_steps=120, stop=False, **settings)
    found = mean_overlap(link, np.array([0, 120]), **settings)
    assert found[1] == pytest.approx(run.overlap.mean(), abs=5 * run.overlap.std() / 4000**0.5)
    assert found[0] == pytest.approx((2 / np.pi / 32) ** 0.5, rel=0.02)


def test_a_thousand_dimensions_at_exponent_three():
    times = [mean_hitting_time(hermite_link(3), dimension=n, step=0.03 * n**-0.5) / n**2 for n in (500, 1000)]
    assert times[1] == pytest.approx(17.958, abs=0.01) and times[0] == pytest.approx(times[1], rel=0.02)


def test_steps_too_long_for_the_nodes_are_refused():
    with pytest.raises(ValueError, match="nodes and quadrature must resolve the chain"):
        mean_overlap(hermite_link(3), np.array([400_000]), dimension=100, step=100**-0.4, nodes=40, quadrature=12)


def test_a_mean_time_that_the_points_do_not_resolve_is_refused():
    """In nine dimensions the reflection below the equator is at the south pole, where few points say little."""
    with pytest.raises(ValueError, match="nodes must resolve the chain, got 48"):
        mean_hitting_time(hermite_link(1), dimension=9, step=1e-3)
