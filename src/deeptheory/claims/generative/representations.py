"""Representations learned without labels: what a linear probe makes of them, and tables of counts turned to vectors."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.special import ndtr, ndtri

from deeptheory.foundations.randomness import generator
from deeptheory.generative.probes import (
    classifier_accuracy,
    few_label_accuracy,
    linear_probe,
    principal_directions,
    probe_limit,
    shared_directions,
)
from deeptheory.generative.word_embeddings import (
    latent_semantic_indexing,
    pointwise_mutual_information,
    skip_gram,
    skip_gram_loss,
    term_document_counts,
)
from deeptheory.lab import Chain, Identity, Inequality, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen

DIMENSION, POINTS = 20, 2000


@claim(
    items={
        "A17.1": ("few labels suffice on a good representation", "what a probe can reach"),
        "A17.4": ("both pretexts generalise", "one of them serves the label"),
    },
    says="Reconstruction and agreement of two views do as well on fresh data as on training data; but a linear probe "
    "for the label finds nothing in the first code and nearly everything in the second, where eight labels teach it "
    "more than on the raw points.",
    needs="20 coordinates: the label moves the first, with deviation $\\sqrt{1/5}$, a style of deviation 5 the second, "
    "noise the rest; views share the label and nothing else",
    full=dict(trials=100),
    symbols={
        r"\text{probe}": "a linear classifier on the code, trained on a few labels",
        r"\text{agreement}": "the correlation of the code of two views of one thing",
    },
    why="A code of one number that reconstructs best keeps the direction of largest variance, which is style; one "
    "that agrees between views keeps what they share, which is the label. Both averages are over thousands of points "
    "and a handful of parameters, so that both pretexts generalise. How well task A was learned does not say what it "
    "is good for in task B.",
    notice="With a handful of labels the probe on the agreeing code is already at its limit, while the raw points need "
    "many times as many; the reconstructing code stays at a coin's toss for ever.",
)
def pretexts_and_probes(key, *, trials: Trials = 16, style: Annotated[float, Interval(ge=3.0, le=10.0)] = 5.0):
    draw = generator(key)
    mean = np.eye(DIMENSION)[0]
    spread = np.ones(DIMENSION)
    spread[:2] = np.sqrt(1 / 5), style
    covariance = np.diag(spread**2)
    labelled = np.array([4, 8, 16, 32, 64])
    pretext, limits, few = np.empty((2, 2, trials)), np.empty((3, trials)), np.empty((3, len(labelled), trials))
    reached = np.empty((3, trials))
    for t in range(trials):
        labels = np.where(draw.random((2, POINTS)) < 0.5, 1.0, -1.0)
        views = labels[:, None, :, None] * mean + spread * draw.standard_normal((2, 2, POINTS, DIMENSION))
        principal = principal_directions(views[0, 0], 1)
        shared = shared_directions(views[0, 0], views[0, 1], 1)
        for split, (x, y) in enumerate(views):
            centred = x - x.mean(0)
            pretext[0, split, t] = np.sum((centred @ principal.T) ** 2) / np.sum(centred**2)
            pretext[1, split, t] = np.corrcoef((x @ shared.T)[:, 0], (y @ shared.T)[:, 0])[0, 1]
        for i, code in enumerate((principal, shared, np.eye(DIMENSION))):
            limits[i, t] = probe_limit(code, mean, covariance)
            features = views[1, 0] @ code.T
            few[i, :, t] = [
                few_label_accuracy(draw, features, labels[1], labelled=int(n), trials=4).mean() for n in labelled
            ]
            weights, offset = linear_probe(features[:500], labels[1][:500])
            reached[i, t] = classifier_accuracy(weights @ code, offset, mean, covariance)
    return {
        "both pretexts generalise": Chain(
            {
                "share of variance": (np.abs(pretext[0, 0] - pretext[0, 1]), 0.1),
                "agreement of views": (np.abs(pretext[1, 0] - pretext[1, 1]), 0.1),
                "both learn something": (0.2, pretext[:, 1]),
            },
            aside={"pretext": pretext},
        ),
        "one of them serves the label": Chain(
            {"reconstruction": (limits[0], 0.6), "agreement": (0.95, limits[1])}, aside={"limits": limits}
        ),
        "what a probe can reach": Inequality(reached, limits, along={"code": ["reconstruction", "agreement", "raw"]}),
        "few labels suffice on a good representation": Trend(
            few[1, 1] - few[2, 1], aside={"accuracies": few, "labelled": labelled}
        ),
    }


@pretexts_and_probes.control("a pretext that generalises certifies the label", of="one of them serves the label")
def certified(evidence):
    return replace(evidence, links=evidence.links | {"reconstruction": (0.95, evidence.aside["limits"][0])})


@pretexts_and_probes.control("pretexts learned almost perfectly", of="both pretexts generalise")
def learned_all(evidence):
    return replace(evidence, links=evidence.links | {"both learn something": (0.95, evidence.aside["pretext"][:, 1])})


@pretexts_and_probes.control("a limit that counts half of the distance", of="what a probe can reach")
def half_the_distance(evidence):
    return replace(evidence, bound=ndtr(ndtri(evidence.bound) / 2))


@pretexts_and_probes.control("on the other representation too", of="few labels suffice on a good representation")
def on_reconstruction(evidence):
    few = evidence.aside["accuracies"]
    return replace(evidence, differences=few[0, 1] - few[2, 1])


@pretexts_and_probes.picture
def accuracy_by_labels(pieces):
    """Accuracy of linear probes by the number of labels, on both codes and on the raw points."""
    aside = pieces["few labels suffice on a good representation"].aside
    names = ("reconstructing code", "agreeing code", "raw points")
    marks = [seen(name, aside["labelled"], rows) for name, rows in zip(names, aside["accuracies"], strict=True)]
    limits = pieces["one of them serves the label"].aside["limits"].mean(1)
    ends = aside["labelled"][[0, -1]]
    marks += [Line(name, ends, np.full(2, limit), dashed=True) for name, limit in zip(names, limits, strict=True)]
    return Curves(marks, x="number of labels", y="accuracy of the probe", log="x", ys=(0.4, 1.0))


@claim(
    items={
        "A17.2": ("error of a truncated table", "documents of one topic"),
        "A17.3": ("scores at full rank", "least loss"),
    },
    says=r"Truncating a term–document table at rank $r$ leaves the squares of the other singular values, and brings "
    r"documents of a topic together. Skip-gram with $k$ negative samples, at full rank, has scores "
    r"$v_w\cdot v_c=\mathrm{PMI}(w,c)-\log k$.",
    needs="every pair of words occurs; the expectation over pairs, not a stream of samples",
    symbols={
        "r": "the rank that is kept",
        "k": "negative samples for each pair",
        "v_w, v_c": "the vectors of a word and of a context",
        r"\mathrm{PMI}": "the logarithm of how much more often a pair occurs than by chance",
    },
    why=r"The singular value decomposition is the best approximation of its rank. In the loss of skip-gram each pair "
    r"has a logistic regression of its own, between its $\#(w,c)$ occurrences and $k\,\#w\,\#c/\#$ negative ones; the "
    "best score is the logarithm of their ratio, and at full rank all pairs can have theirs at once.",
    notice="Left, documents of one topic point one way. Right, each dot is a pair of words: what skip-gram has learned "
    r"lies $\log k$ below the mutual information of the pair, everywhere.",
    explore={"negatives": (1, 4, 10)},
)
def tables_into_vectors(key, *, negatives: Annotated[int, Interval(ge=1, le=20)] = 4):
    draw, words, topics = generator(key), 8, 3
    # Documents of three topics, with words of their own twice as likely as others, 150 words each.
    lean = np.where(np.arange(24)[None] % topics == np.arange(topics)[:, None], 2.0, 1.0)
    lean /= lean.sum(-1, keepdims=True)
    subject = np.arange(60) % topics
    table = term_document_counts([draw.choice(24, size=150, p=lean[s]) for s in subject], 24)
    ranks = np.array([1, 3, 6, 12])
    left = [latent_semantic_indexing(table, int(r)) for r in ranks]
    errors = [np.sum((table - each.words @ each.documents.T) ** 2) for each in left]
    squares = np.linalg.eigvalsh(table @ table.T)[::-1]
    tails = np.array([squares[r:].sum() for r in ranks])
    vectors = latent_semantic_indexing(table - table.mean(1, keepdims=True), topics - 1).documents
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    same = subject[:, None] == subject
    # One difference for each document: its mean cosine with its own topic's others, less that with the rest.
    cosines = vectors @ vectors.T - np.eye(60)

    def together(same):
        return cosines.sum(1, where=same) / (same.sum(1) - 1) - cosines.mean(1, where=~same)

    mixed = draw.permutation(subject)
    pairs = draw.integers(5, 60, size=(words, words)).astype(float)
    pairs += pairs.T
    trained = skip_gram(draw, pairs, words, negatives=float(negatives))
    total, rows = pairs.sum(), pairs.sum(1, keepdims=True)
    ratio = np.log(pairs * total / (negatives * rows * rows.T))
    return {
        "error of a truncated table": Identity(
            np.array(errors),
            tails,
            scale=squares.sum(),
            along={"rank": ranks},
            aside={"later": np.array([squares[r + 1 :].sum() for r in ranks])},
        ),
        # By a cosine of a half at least.
        "documents of one topic": Trend(
            together(same) - 0.5,
            aside={"vectors": vectors, "topic": subject, "mixed": together(mixed[:, None] == mixed) - 0.5},
        ),
        # L-BFGS stops where the loss no longer changes in its last digits, half of them for the scores.
        "scores at full rank": Identity(
            trained.words @ trained.contexts.T,
            ratio,
            scale=1.0,
            error=2e-3,
            aside={"pmi": pointwise_mutual_information(pairs), "negatives": np.array(negatives)},
        ),
        "least loss": Identity(
            trained.loss,
            skip_gram_loss(ratio, pairs, negatives=float(negatives)),
            error=1e-6 * total,
            aside={
                "unshifted": skip_gram_loss(
                    pointwise_mutual_information(pairs) + np.log(negatives + 1), pairs, negatives=float(negatives)
                )
            },
        ),
    }


@tables_into_vectors.control("one singular value more is kept", of="error of a truncated table")
def one_value_more(evidence):
    return replace(evidence, right=evidence.aside["later"])


@tables_into_vectors.control("documents of other topics, in groups as large", of="documents of one topic")
def mixed_topics(evidence):
    return replace(evidence, differences=evidence.aside["mixed"])


@tables_into_vectors.control("one negative sample more", of="scores at full rank")
def one_negative_more(evidence):
    return replace(evidence, right=evidence.aside["pmi"] - np.log(evidence.aside["negatives"] + 1.0))


@tables_into_vectors.control("scores raised by log(k + 1)", of="least loss")
def shifted_up(evidence):
    return replace(evidence, right=evidence.aside["unshifted"])


@tables_into_vectors.picture
def two_tables(pieces):
    """Documents in the plane of two singular vectors, by topic; and learned scores by mutual information."""
    aside, scores = pieces["documents of one topic"].aside, pieces["scores at full rank"]
    places = [Dots(f"topic {topic + 1}", *aside["vectors"][aside["topic"] == topic].T) for topic in range(3)]
    pmi = np.ravel(scores.aside["pmi"])
    ends = np.array([pmi.min(), pmi.max()])
    shifted = [
        Line("less log k", ends, ends - np.log(float(scores.aside["negatives"]))),
        Dots("learned", pmi, np.ravel(scores.left)),
        Line("", ends, ends, rival="without the shift"),
    ]
    return Row(
        [
            Curves(places, x="first singular direction", y="second singular direction"),
            Curves(shifted, x="pointwise mutual information", y="score of the pair"),
        ]
    )
