"""The edge of stability: full-batch gradient descent drives the curvature to 2/η (arora 2.6, Figure 2.4)."""

import functools
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.curvature.edge_of_stability import descent_with_sharpness, stability_phases
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Count, Exact, claim
from deeptheory.lab.pictures import Curves, Level, Line, Stack
from deeptheory.optimization.landscapes import TanhNetworkLoss

EVERY = 20
PHASES = (
    "starts below the edge",
    "reaches it",
    "falls at every step until then",
    "then rises at times",
    "falls in the end",
)


@functools.partial(jax.jit, static_argnames=("hidden", "steps"))
def train(inputs, labels, starts, directions, sizes, *, hidden, steps):
    """One run for every network (leading axes) and step size."""

    def run(inputs, labels, start, direction, size):
        loss = TanhNetworkLoss(inputs, labels, hidden)
        setting = dict(step_size=size, steps=steps, every=EVERY, iterations=6)
        return descent_with_sharpness(loss, start, direction, **setting)

    return jax.vmap(jax.vmap(run, (None, None, None, None, 0)), (0, 0, 0, 0, None))(
        inputs, labels, starts, directions, sizes
    )


@claim(
    items={
        "A2.34": ("sharpness at the end", "phases of training"),
        "A0.4": ("sharpness at the end", "phases of training"),
    },
    says=r"Trained by full-batch gradient descent with step $\eta$, a network's sharpness $\lambda_{\max}(\nabla^2L)$ "
    r"rises from below past $2/\eta$ and settles within a tenth of it; until it "
    "arrives the loss falls at every step, from then on it rises at times and falls in the long run.",
    # Seen at other settings: width 10 (64 labels) and width 12 (128 labels, 1000 steps) end up to 6 % off, the latter
    # within 2.2 % after 3000 steps; with steps 0.15 to 0.45 a phase is missing now and then.
    needs="a step for which small steps would end sharper than 2/η, and not so large that training diverges; a network "
    "wide enough, and trained long enough, to nearly fit its labels: narrow ones end up to 6 % off",
    scale="printed: a ResNet on 5,000 CIFAR-10 images; here: tanh networks 8-24-24-1 on 64 random labels, squared loss",
    full=dict(networks=8, steps=3000),
    symbols={
        r"\eta": "the step size of gradient descent",
        r"L": "the training loss over all samples",
        r"\lambda_{\max}(\nabla^2L)": "the sharpness: the largest curvature of the loss where training stands",
    },
    why=r"On a parabola of curvature $\lambda$ gradient descent multiplies the distance from the bottom by "
    r"$1-\eta\lambda$, so it diverges as soon as $\lambda>2/\eta$. Training first moves where the loss grows sharper. "
    r"Past $2/\eta$ it begins to oscillate along the sharpest direction; to third order, these oscillations push the "
    r"weights towards smaller curvature, and so the sharpness is held where the two effects balance.",
    notice=r"In units of $2/\eta$ all three runs end on the same line. The loss falls smoothly until its curve above "
    r"crosses the line, and jags from then on, while it still falls in the long run. The smaller the step, the later "
    r"the edge is reached and the sharper the minimum that is found. Above $1/\eta$ "
    r"a step overshoots, and nothing happens there. Where a run settles is its mean over the last quarter.",
    explore={"width": (16, 24, 32)},
)
def edge_of_stability(
    key,
    *,
    networks: Count = 4,
    steps: Annotated[int, Interval(ge=400, le=20_000)] = 1000,
    width: Annotated[int, Interval(ge=16, le=256)] = 24,
    samples: Annotated[int, Interval(ge=48, le=2000)] = 64,
    step_sizes: Annotated[tuple[float, ...], Interval(ge=1e-4, le=0.45)] = (0.2, 0.3, 0.4),
):
    random, hidden, sizes = generator(key), (width, width), np.asarray(step_sizes)
    inputs = jnp.asarray(random.standard_normal((networks, samples, 8)))
    labels = jnp.asarray(np.sign(random.standard_normal((networks, samples))))
    shape = TanhNetworkLoss(inputs[0], labels[0], hidden)
    # Four fifths of the usual initial scale, so that even the largest step starts well below the edge.
    starts = jnp.stack([0.8 * shape.initial(each) for each in jax.random.split(key, networks)])
    directions = jnp.asarray(random.standard_normal(starts.shape))
    steps = steps // EVERY * EVERY
    runs = train(inputs, labels, starts, directions, jnp.asarray(sizes), hidden=hidden, steps=steps)

    relative, losses = np.asarray(runs.sharpness) * sizes[:, None] / 2, np.asarray(runs.losses)
    final = relative[..., -relative.shape[-1] // 4 :].mean(-1)
    observed = np.zeros((len(PHASES), networks, len(sizes)), bool)
    for place in np.ndindex(networks, len(sizes)):
        trace = jax.tree.map(lambda each, place=place: each[place], runs)
        phases = stability_phases(trace, step_size=sizes[place[1]], every=EVERY)
        ended = losses[place][-1] < losses[place][max(phases.entered, 0)] / 2
        calm, wild = phases.rises_before == 0, phases.rises_after > 0
        # Where the run was split the sharpness is beyond the edge for the first time.
        first = phases.entered // EVERY
        arrived = relative[place][first] >= 1 > relative[place][:first].max(initial=0)
        observed[:, *place] = phases.initial < 1, arrived, calm, wild, ended
    along = {"network": np.arange(networks), "step size": sizes}
    traces = {"steps": np.arange(0, steps + 1, EVERY), "sharpness": relative[0], "losses": losses[0, :, ::EVERY]}
    return {
        "sharpness at the end": Chain(
            {"at most a tenth above": (final, 1.1), "at most a tenth below": (0.9, final)}, along=along
        ),
        "phases of training": Exact(observed, np.ones_like(observed), along={"phase": PHASES, **along}, aside=traces),
    }


edge_of_stability.control("steps so small that the edge is never reached", step_sizes=(0.02, 0.03, 0.04))


@edge_of_stability.control("the sharpness settles at 1/η", of="sharpness at the end")
def at_half(evidence):
    final, _ = evidence.links["at most a tenth above"]
    return Chain({"at most a tenth above": (2 * final, 1.1), "at most a tenth below": (0.9, 2 * final)})


@edge_of_stability.picture
def traces(pieces):
    """Sharpness in units of 2/η (above) and loss (below) along the training of the first network, for each step η."""
    phases = pieces["phases of training"]
    steps, sizes = phases.aside["steps"], phases.along["step size"]
    sharp = [Line(f"η = {size:g}", steps, each) for size, each in zip(sizes, phases.aside["sharpness"], strict=True)]
    losses = [Line(f"η = {size:g}", steps, each) for size, each in zip(sizes, phases.aside["losses"], strict=True)]
    levels = [Level("the edge, 2/η", y=1), Level("1/η", y=0.5, rival="above which a step overshoots")]
    return Stack(
        [
            Curves([*sharp, *levels], x="step", y="sharpness, in units of 2/η", title="Sharpness"),
            Curves(losses, x="step", y="squared loss", log="y", title="Loss"),
        ]
    )
