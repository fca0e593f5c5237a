"""Self-attention as particles on the sphere: one exact equation, one cluster, one energy (jagannath, chapter 14)."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.integrate import simpson

from deeptheory.attention.clusters import (
    consensus_time,
    interaction_energy,
    kuramoto_velocity,
    random_tokens,
    token_flow,
    token_velocity,
)
from deeptheory.attention.equiangular import equiangular_overlap, equiangular_tokens, equiangular_velocity
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Identity, Inequality, Rate, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row

InverseTemperatures = Annotated[tuple[float, ...], Interval(ge=0.0, le=20.0)]


def climb(tokens, betas):
    """The gradient of log Σ_j exp(β⟨y, x_j⟩) at each token y = x_i."""
    slope = jax.grad(lambda y, beta: jax.scipy.special.logsumexp(beta * (tokens @ y)))
    return jax.vmap(jax.vmap(slope, (0, None)), (None, 0))(tokens, betas)


@claim(
    items={
        "J14.5": (
            "velocity of the tokens",
            "speed of the overlap",
            "overlap along the flow",
            "approach to consensus, hot",
            "approach to consensus, cold",
        )
    },
    says=r"Under self-attention with $Q=K=V=I$ orthonormal tokens keep one common overlap $g$, and it obeys exactly "
    r"$\dot g = 2e^{\beta g}(1-g)((n-1)g+1)/(e^{\beta}+(n-1)e^{\beta g})$. From any start close to consensus all "
    r"$1-\langle x_i,x_j\rangle$ vanish like $e^{-2t}$, whatever $\beta$.",
    needs="at least as many dimensions as tokens; for the rate, a start near consensus, where all tokens agree",
    full=dict(count=32, dimension=128, betas=(0.0, 0.5, 1.0, 2.0, 4.0, 6.0)),
    symbols={
        r"Q,K,V": "the query, key and value matrices",
        r"x_i": "token $i$, a unit vector",
        r"\beta": "the inverse temperature: large means that a token attends to its nearest only",
        r"g": "the overlap of two tokens, the cosine of their angle",
        r"n": "the number of tokens, the count of the slider",
        r"t": "time, that is depth in layers",
    },
    why=r"Token $i$ moves along the sphere as if to climb $\frac1\beta\log\sum_je^{\beta\langle y,x_j\rangle}$ from "
    r"$y=x_i$. This flow treats all tokens alike and commutes with rotations, so tokens at equal angles stay at equal "
    r"angles: one number $g$ describes them all. Each token attends to itself with weight proportional to $e^\beta$ "
    r"and to each other with $e^{\beta g}$, which gives the equation. Near consensus all weights are nearly $1/n$, "
    "every token moves to the mean at rate one, and squared distances therefore shrink at rate two.",
    notice=r"On the left, simulated tokens lie on the solution of one ordinary differential equation. The colder the "
    "attention, the longer the tokens stay near orthogonal. On the right, once they come together they do so at the "
    "same rate at every temperature: on the logarithmic axis all curves end parallel to the dashed line.",
    explore={"count": (4, 8, 16, 32)},
)
def orthonormal_tokens_obey_one_equation(
    key,
    *,
    count: Annotated[int, Interval(ge=2, le=128)] = 8,
    dimension: Annotated[int, Interval(ge=2, le=1024)] = 64,
    betas: InverseTemperatures = (0.0, 1.0, 2.0, 4.0),
    start: Literal["orthonormal", "random"] = "orthonormal",
):
    assume(dimension >= count, "orthonormal tokens need at least as many dimensions as there are tokens")
    times, substeps = np.linspace(0.5, 12.0, 24), 32
    drawn = random_tokens(key, count, dimension)
    orthonormal = drawn if start == "random" else np.linalg.qr(drawn.T)[0].T
    pole = np.eye(dimension)[0] + 0.3 * random_tokens(jax.random.fold_in(key, 1), count, dimension)
    near_pole = pole / np.linalg.norm(pole, axis=1, keepdims=True)
    # The second grid of times visits 1, 2, … and then waits: the same compiled program with twice the step.
    grids = np.stack([times, np.minimum(2 * times, times[-1]), times])
    starts = np.stack([orthonormal, orthonormal, near_pole])
    flow = jax.vmap(jax.vmap(partial(token_flow, substeps=substeps), (0, 0, None)), (None, None, 0))
    fine, coarse, near = np.asarray(flow(starts, grids, np.asarray(betas))).swapaxes(0, 1)
    overlaps = (fine @ fine.swapaxes(-1, -2))[..., *np.triu_indices(count, 1)]
    exact = np.stack([equiangular_overlap(times, count, beta) for beta in betas])
    # |x − y|²/2 keeps the digits of 1 − ⟨x, y⟩ that subtraction would lose.
    gaps = 0.5 * np.max(np.sum((near[:, -5:, :, None] - near[:, -5:, None]) ** 2, axis=-1), axis=(2, 3))
    levels = np.append(-0.5 / (count - 1), np.linspace(0.0, 0.9, 4))
    common = np.pad([equiangular_tokens(count, g) for g in levels], ((0, 0), (0, 0), (0, dimension - count)))
    moving = np.append(common, near_pole[None], axis=0)
    velocity = jax.jit(jax.vmap(jax.vmap(token_velocity, (0, None)), (None, 0)))(moving, np.asarray(betas))
    speeds = 2 * (velocity[:, :-1] @ common.swapaxes(1, 2))[..., *np.triu_indices(count, 1)]
    law, more = (np.stack([equiangular_velocity(levels, n, beta) for beta in betas]) for n in (count, count + 1))
    pull, cooled = np.asarray(jax.jit(climb)(near_pole, np.asarray(betas))), np.reshape(betas, (-1, 1, 1))
    climbed = pull - np.sum(pull * near_pole, -1, keepdims=True) * near_pole
    hot, cold = int(np.argmin(betas)), int(np.argmax(betas))
    clock, slow = np.exp(times[-5:]), -2 * float(np.exp(-betas[cold]))
    return {
        "velocity of the tokens": Identity(cooled * velocity[:, -1], climbed, scale=1 + cooled, size=count),
        "speed of the overlap": Identity(
            speeds, law[..., None], scale=1.0, size=count, aside={"one token more": more[..., None]}
        ),
        "overlap along the flow": Identity(
            np.stack([overlaps.min(-1), overlaps.max(-1)]),
            exact[None],
            scale=1.0,
            size=len(times) * substeps,
            # Halving the step divides the error by 16, so the difference of the two runs exceeds what is left.
            error=2 * np.max(np.abs(fine[:, 1::2] - coarse[:, :12])),
            along={"pair": ["least", "greatest"], "inverse temperature": np.asarray(betas), "time": times},
        ),
        # Nothing is noisy here, so the exponent is asked for to 1 %. The slow rival is the decay constant O(e^-β) that
        # is proven for the whole way: the start from afar is that slow, the end is not.
        "approach to consensus, hot": Rate(clock, gaps[hot], exponent=-2.0, resolution=0.02, rivals=(-1.0,)),
        "approach to consensus, cold": Rate(
            clock, gaps[cold], exponent=-2.0, resolution=0.02, rivals=(-1.0, slow) if slow > -1.9 else (-1.0,)
        ),
    }


@orthonormal_tokens_obey_one_equation.control("n for n − 1 in the equation", of="speed of the overlap")
def counting_itself(evidence):
    return replace(evidence, right=evidence.aside["one token more"])


@orthonormal_tokens_obey_one_equation.control(
    "without the factor 2, as if one token of a pair stood still", of="overlap along the flow"
)
def half_speed(evidence):
    along = {**evidence.along, "time": evidence.along["time"][1::2]}
    return replace(evidence, left=evidence.left[..., 1::2], right=evidence.right[..., :12], along=along)


orthonormal_tokens_obey_one_equation.control(
    "random directions in high dimension, which are orthonormal only nearly",
    of="overlap along the flow",
    start="random",
)


@orthonormal_tokens_obey_one_equation.picture
def overlap_curves(pieces):
    """The common overlap of orthonormal tokens (left) and what it lacks to one (right): the exact equation as lines,
    simulated tokens as points."""
    found = pieces["overlap along the flow"]
    betas, time = found.along["inverse temperature"], found.along["time"]
    exact = [Line(f"β = {beta:g}", time, line) for beta, line in zip(betas, found.right[0], strict=True)]
    tokens = [Dots(f"β = {beta:g}", time, line) for beta, line in zip(betas, found.left[0], strict=True)]
    # At half the speed the overlap at time t is the one at t/2, and times are equally spaced.
    late, coldest = time[1::2], int(np.argmax(betas))
    slow = Line(f"β = {betas[coldest]:g}", late, found.right[0][coldest][: len(late)], rival="without the factor 2")
    lacks = [replace(each, y=1 - np.asarray(each.y)) for each in (*exact, *tokens)]
    end = time[time >= 5]
    rate = Line("decay like e^(−2t)", end, 0.02 * np.exp(-2 * (end - end[0])), dashed=True)
    return Row(
        [
            Curves([*exact, *tokens, slow], x="time t", y="overlap of two tokens"),
            Curves([*lacks, rate], x="time t", y="one minus the overlap", log="y", ys=(1e-10, 1)),
        ]
    )


@claim(
    items={"J14.8": ("all tokens meet", "velocity on the circle")},
    says=r"With $\beta=0$ every token moves toward the plain mean, and from almost every start all tokens meet in one "
    r"point; on the circle the flow is Kuramoto's $\dot\theta_i=\frac1n\sum_j\sin(\theta_j-\theta_i)$, with weights "
    r"$\propto_je^{\beta\cos(\theta_j-\theta_i)}$ in place of $\frac1n$ at other $\beta$.",
    needs="starts drawn from a density on the sphere: saddles, such as two antipodal groups, stay where they are",
    full=dict(trials=1000, share=0.01),
    symbols={
        r"\beta": "the inverse temperature; at 0 every token attends to all alike",
        r"\theta_i": "the angle of token $i$ on the circle",
        r"n": "the number of tokens",
    },
    why=r"Every token is pulled towards the same vector, the mean, along the sphere. The length of the mean can only "
    "grow, so the flow comes to rest; where it rests, every token is parallel or opposite to the mean, or the mean "
    "is zero. All but consensus are unstable, and the starts that lead to them are a set of measure zero.",
    notice=r"From random angles all tokens gather at one. Those that start opposite to the mean hesitate, and the "
    "nearer they are to exactly opposite the longer; they come in all the same.",
)
def uniform_attention_ends_in_one_cluster(
    key,
    *,
    trials: Trials = 256,
    share: Annotated[float, Interval(ge=0.001, le=0.5)] = 0.05,
    start: Literal["uniform", "antipodal"] = "uniform",
):
    shapes = ((32, 2), (32, 3), (16, 10))
    # Near consensus the distance halves every 0.7; 100 leaves room for starts as close as e^-40 to a saddle.
    arrive = jax.vmap(lambda tokens: consensus_time(tokens, 0.0, 1e-6, 0.1, 100.0))
    failures = []
    for i, (count, dimension) in enumerate(shapes):
        tokens = random_tokens(jax.random.fold_in(key, i), trials, count, dimension)
        if start == "antipodal":
            tokens = np.sign(tokens[..., :1]) * np.eye(dimension)[0]
        if dimension == 2:  # a great circle of the sphere is never left: one compiled program less
            tokens = np.pad(tokens, ((0, 0), (0, 0), (0, 1)))
        failures.append(int(np.sum(~np.isfinite(np.asarray(arrive(tokens))))))
    angles = generator(key).uniform(0, 2 * np.pi, (trials, 32))
    circle, tangent = (
        np.stack([f(angles), g(angles)], -1) for f, g in ((np.cos, np.sin), (lambda a: -np.sin(a), np.cos))
    )
    shown = np.linspace(0.0, 12.0, 61)
    paths = np.asarray(token_flow(circle[0], shown, 0.0, substeps=8))
    velocity = np.stack([jax.vmap(token_velocity, (0, None))(circle, beta) for beta in (0.0, 2.0)])
    kuramoto = np.stack([jax.vmap(kuramoto_velocity, (0, None))(angles, beta) for beta in (0.0, 2.0)])
    apart = angles[:, None, :] - angles[:, :, None]
    weights = np.exp(2.0 * np.cos(apart))
    printed = [np.sin(apart).sum(-1) / 32, (weights * np.sin(apart)).sum(-1) / weights.sum(-1)]
    return {
        # The theorem says never; a share is what finitely many starts can exclude.
        "all tokens meet": Chance(
            failures, trials, share, along={"tokens, dimension": [f"{n}, {d}" for n, d in shapes]}
        ),
        "velocity on the circle": Identity(
            np.stack([np.sum(velocity * tangent, -1), kuramoto]),
            np.broadcast_to(printed, (2, *kuramoto.shape)),
            scale=1.0,
            size=32,
            aside={"times": shown, "paths": paths},
        ),
    }


@uniform_attention_ends_in_one_cluster.picture
def angles_meet(pieces):
    """The angles of 32 tokens on the circle, from where they meet in the end, along the flow of uniform attention."""
    times, paths = (
        pieces["velocity on the circle"].aside["times"],
        np.asarray(pieces["velocity on the circle"].aside["paths"]),
    )
    heading = paths[..., 0] + 1j * paths[..., 1]
    angles = np.angle(heading / heading[-1].mean())
    return Curves(
        [Line("tokens", times, each, thin=True) for each in angles.T],
        x="time t",
        y="angle from the meeting point, in radians",
    )


uniform_attention_ends_in_one_cluster.control(
    "every start, also two antipodal groups", of="all tokens meet", start="antipodal"
)


@uniform_attention_ends_in_one_cluster.control(
    "coupling 2, as ascent of the printed energy would have it", of="velocity on the circle"
)
def double_coupling(evidence):
    return replace(evidence, right=2 * evidence.right)


@claim(
    items={
        "J14.9": (
            "velocity is half the gradient",
            "energy gained by the end",
            "energy never falls",
            "gradient of the energy with temperature",
        )
    },
    says=r"With $\beta=0$ the token flow is gradient ascent of $\frac{1}{2n}\sum_{ij}\langle x_i,x_j\rangle$, half the "
    r"printed $E_0$, so that $\dot E_0 = 2\sum_i|\dot x_i|^2\ge 0$. At other $\beta$ it climbs another energy, "
    r"$E_\beta=\frac1{n\beta}\sum_{ij}(e^{\beta\langle x_i,x_j\rangle}-1)$, whose gradient is "
    r"$\frac2n\dot x_i\sum_je^{\beta\langle x_i,x_j\rangle}$.",
    needs="uniform attention: a cold enough flow may lower E₀",
    full=dict(trials=256),
    symbols={
        r"\beta": "the inverse temperature; at 0 every token attends to all alike",
        r"n": "the number of tokens",
        r"x_i": "token $i$, a unit vector",
        r"E_0,E_\beta": "energies of interaction; they are largest when all tokens agree",
    },
    why=r"In the sum over ordered pairs every pair occurs twice, so the derivative of $E_0$ in $x_i$ is twice the "
    r"mean of the tokens, and the flow follows the mean itself, half of that. Hence $\dot E_0=2\sum_i|\dot x_i|^2$. At "
    r"other $\beta$ the weights are divided by a sum that differs from token to token, and the flow is a gradient "
    "only after each token's speed is multiplied by that sum.",
    notice=r"The energy of each set of tokens climbs to its largest value, the number of tokens, where all agree, and "
    "never steps back.",
)
def uniform_attention_climbs_half_the_energy(
    key, *, trials: Trials = 32, beta: Annotated[float, Interval(ge=0.0, le=20.0)] = 0.0
):
    starts = random_tokens(key, trials, 16, 3)
    warm = np.array([0.5, 3.0])  # not 2, which would hide a factor β in the place of the 2
    slope = np.stack([jax.vmap(jax.grad(interaction_energy), (0, None))(starts, b) for b in (0.0, *warm)])
    gradient, *others = slope - np.sum(slope * starts, -1, keepdims=True) * starts
    velocities = jax.vmap(token_velocity, (0, None))
    overlaps = starts @ starts.swapaxes(-1, -2)
    climbed = [2 / 16 * np.exp(b * overlaps).sum(-1, keepdims=True) * velocities(starts, b) for b in warm]
    # The second grid of times takes steps twice as long and then waits: an estimate of all errors of the first.
    times = np.linspace(0.0, 10.0, 201)
    flow = jax.vmap(jax.vmap(partial(token_flow, substeps=4), (0, None, None)), (None, 0, None))
    paths = np.asarray(flow(starts, np.stack([times, np.minimum(2 * times, 10.0)]), beta))
    energies = np.sum(np.sum(paths, axis=-2) ** 2, -1) / 16
    powers = 2 * np.sum(np.asarray(velocities(paths.reshape(-1, 16, 3), beta)) ** 2, (-1, -2)).reshape(energies.shape)
    energy, worked = energies[0], simpson(powers[0], x=times)
    error = np.max(np.abs(energy[:, ::2] - energies[1, :, :101])) + np.max(
        np.abs(worked - simpson(powers[1, :, :101], x=times[::2]))
    )
    return {
        "velocity is half the gradient": Identity(velocities(starts, beta), gradient / 2, scale=1.0, size=16),
        "energy gained by the end": Identity(energy[:, -1] - energy[:, 0], worked, scale=16.0, error=2 * error),
        "energy never falls": Inequality(energy[:, :-1], energy[:, 1:], aside={"times": times, "energy": energy[:12]}),
        "gradient of the energy with temperature": Identity(
            np.array(others), np.array(climbed), scale=np.exp(warm)[:, None, None, None], size=16
        ),
    }


@uniform_attention_climbs_half_the_energy.picture
def energies(pieces):
    """The energy E₀ of twelve sets of 16 tokens along the flow."""
    aside = pieces["energy never falls"].aside
    marks = [Line("sets of tokens", aside["times"], each, thin=True) for each in aside["energy"]]
    return Curves([*marks, Level("all tokens agree", y=16.0)], x="time t", y="energy E₀", ys=(0, 17.5))


@uniform_attention_climbs_half_the_energy.control("gradient ascent of E₀ itself", of="velocity is half the gradient")
def printed_energy(evidence):
    return replace(evidence, right=2 * evidence.right)


@uniform_attention_climbs_half_the_energy.control(
    "the energy gains one squared speed, as under its own ascent", of="energy gained by the end"
)
def single_climb(evidence):
    return replace(evidence, right=evidence.right / 2)


uniform_attention_climbs_half_the_energy.control(
    "the same energy climbs when tokens attend selectively", of="energy never falls", beta=9.0
)
