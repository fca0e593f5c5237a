"""Synthetic data in place of held-out data: a conditional generator ranks classifiers trained on its own data."""

from dataclasses import replace

import numpy as np
from scipy.stats import kendalltau

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line

DIMENSION, SAMPLES, FRESH = 8, 60, 1000
WIDTHS, RIDGES = (4, 8, 16, 32, 64, 128), (1e-6, 1e-3, 1e-1, 1e1)


def labelled(draw, count, means, roots):
    """Points of two classes ±1, half of each, Gaussian with these means and roots of covariances."""
    classes = np.arange(count) % 2
    noise = draw.standard_normal((count, DIMENSION))
    return means[classes] + np.einsum("nij,nj->ni", roots[classes], noise), 2.0 * classes - 1


def pool(draw, points, labels, *tests):
    """Norms of the weights, and accuracies on each test set, of random-feature classifiers by width and ridge."""
    for width in WIDTHS:
        directions = draw.standard_normal((DIMENSION + 1, width)) / 2
        made, *seen = (
            np.tanh(np.column_stack([x, np.ones(len(x))]) @ directions) for x in (points, *(x for x, _ in tests))
        )
        for ridge in RIDGES:
            weights = np.linalg.solve(made.T @ made + ridge * np.eye(width), made.T @ labels)
            right = [np.mean(np.sign(x @ weights) == y) for x, (_, y) in zip(seen, tests, strict=True)]
            yield [np.linalg.norm(weights), *right]


@claim(
    items={"A16.20": ("better ranking than training accuracy and norms", "nearer to the truth than training accuracy")},
    says="A conditional generator fitted to a training set alone predicts how classifiers trained on that set will do "
    "on fresh data: its data rank them better than training accuracy or the norms of their weights do, and its "
    "accuracies are nearer to the true ones.",
    needs="two Gaussian classes in 8 dimensions, 60 points; an affine generator a class whose first two moments are "
    "the sample's, where it is in equilibrium with quadratic discriminators; all fixed before looking",
    scale="printed: conditional GANs and deep nets on images; here: Gaussian classes, which the affine generators can "
    "match, and random features",
    full=dict(trials=200),
    symbols={r"\text{synthetic data}": "labelled points drawn from the generator after it was fitted"},
    why="A generator that matches moments smooths the sample: it cannot copy the accidents of single points, which is "
    "what an overfitted classifier has learned. So its data catch overfitting, as fresh data would. This works while "
    "the generator is too small to memorise; a generator of the sample itself repeats the training accuracy.",
    notice="Along the horizontal axis, the classifiers' true accuracy. Training accuracy is highest for classifiers "
    "that do worse on fresh data; accuracy on synthetic data rises along with the truth.",
)
def synthetic_data_predict_generalization(key, *, trials: Trials = 64):
    draw = generator(key)
    norms, truth, made, trained, copied = np.empty((5, trials, len(WIDTHS) * len(RIDGES)))
    for t in range(trials):
        shift = draw.standard_normal(DIMENSION)
        shift *= 1.2 / np.linalg.norm(shift)
        roots = np.stack([np.eye(DIMENSION) + 0.3 * draw.standard_normal((DIMENSION, DIMENSION)) for _ in range(2)])
        means = np.stack([-shift, shift])
        points, labels = labelled(draw, SAMPLES, means, roots)
        groups = [points[labels == sign] for sign in (-1, 1)]
        fitted = np.stack([group.mean(0) for group in groups])
        spreads = np.stack([np.linalg.cholesky(np.cov(group.T)) for group in groups])
        fresh, synthetic = labelled(draw, FRESH, means, roots), labelled(draw, FRESH, fitted, spreads)
        again = draw.integers(SAMPLES, size=FRESH)
        tests = fresh, synthetic, (points, labels), (points[again], labels[again])
        scores = np.array(list(pool(draw, points, labels, *tests)))
        norms[t], truth[t], made[t], trained[t], copied[t] = scores.T
    guesses = {"synthetic": made, "training": trained, "norms": -norms, "copies": copied}
    ranks = {
        name: np.array([kendalltau(row, true)[0] for row, true in zip(guess, truth, strict=True)])
        for name, guess in guesses.items()
    }
    errors = [np.abs(guess - truth).mean(1) for guess in (made, trained, copied)]
    return {
        "better ranking than training accuracy and norms": Trend(
            np.stack([ranks["synthetic"] - ranks[name] for name in ("training", "norms")]),
            along={"beside": ["training accuracy", "norms"]},
            aside={
                "truth": truth, "synthetic": made, "training": trained, "copies": ranks["copies"] - ranks["synthetic"],
            },
        ),
        "nearer to the truth than training accuracy": Trend(
            errors[1] - errors[0], aside={"copies": errors[0] - errors[2]}
        ),
    }  # fmt: skip


@synthetic_data_predict_generalization.control(
    "a generator that repeats its data ranks them better", of="better ranking than training accuracy and norms"
)
def copies_rank_better(evidence):
    return replace(evidence, differences=evidence.aside["copies"][None], along={})


@synthetic_data_predict_generalization.control(
    "a generator that repeats its data is nearer", of="nearer to the truth than training accuracy"
)
def copies_are_nearer(evidence):
    return replace(evidence, differences=evidence.aside["copies"])


@synthetic_data_predict_generalization.picture
def predicted_accuracies(pieces):
    """Accuracy on synthetic data, and on the training set, by the true accuracy: each classifier, mean over sets."""
    aside = pieces["better ranking than training accuracy and norms"].aside
    truth = aside["truth"].mean(0)
    return Curves(
        [
            Dots("on synthetic data", truth, aside["synthetic"].mean(0)),
            Dots("on the training set", truth, aside["training"].mean(0)),
            Line("the truth", np.sort(truth), np.sort(truth), thin=True),
        ],
        x="accuracy on fresh data",
        y="predicted accuracy",
    )
