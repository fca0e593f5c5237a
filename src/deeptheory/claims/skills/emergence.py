"""Emergence of skills: how far an error set can concentrate on few skills of a random skill graph."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.optimize import brentq
from scipy.special import entr, gammaln
from scipy.stats import binom, poisson as poisson_law

from deeptheory.generalization.pac_bayes.bounds import binary_kl
from deeptheory.lab import Chain, Inequality, Integers, Law, Limit, Reals, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen
from deeptheory.skills.emergence import (
    change_of_measure_concentration,
    containing_share,
    emergence_margin,
    exact_concentration,
    first_moment_concentration,
    log_first_moment,
    searched_concentration,
    skill_graph,
    worst_concentration,
)

MEASURE, SKILLS_EACH = np.array([0.4, 0.3, 0.2, 0.1]), np.array([5, 2])
# (skills, size of the set Z, edges of a piece k, share θ of pieces in error); θ keeps clear of the binomial's tail
# probabilities, where the worst set of a finite graph would fall short of the limit by more than exponentially little.
SETTINGS = ((12, 3, 8, 0.1), (10, 2, 8, 0.1), (12, 3, 4, 0.03))


@claim(
    items={"A15.24": ("mean degree of a skill", "variance of the degree", "share of pieces that use a skill")},
    says=r"In a cluster of $|T|$ pieces with $k$ skills each, a skill of measure $\mu$ has a degree of mean $k|T|\mu$ "
    r"and variance $k|T|\mu(1-\mu)$, and a share $1-(1-\mu)^k$ of the pieces uses it: only its share of the edges is "
    r"$\mu$.",
    needs="skills of a piece drawn independently from the measure, repetition allowed",
    full=dict(trials=400_000),
    symbols={
        "|T|": "the number of text pieces in the cluster",
        "k": "the number of skills drawn for each piece",
        r"\mu": "the measure of a skill: the chance that one draw takes it",
    },
    why=r"A cluster makes $k|T|$ independent draws, and each takes the skill with chance $\mu$: a binomial number of "
    "edges. A piece misses the skill if all of its $k$ draws do. So the share of pieces that use a skill is nearly "
    r"$k\mu$ when $\mu$ is small, $k$ times its share of the edges.",
    notice="The degrees are binomial, a little narrower than Poisson. On the right, the pieces that use a skill are "
    r"far more than a share $\mu$ of them, except for skills that nearly all or no pieces use.",
)
def skill_degrees(key, *, trials: Trials = 100_000, texts: Annotated[int, Interval(ge=2, le=1000)] = 10):
    pieces = np.array([texts, texts + 3])  # another number of pieces for each number of skills
    clusters = [
        skill_graph(jax.random.fold_in(key, k), trials * size, len(MEASURE), k, measure=MEASURE).reshape(
            trials, size, -1
        )
        for k, size in zip(SKILLS_EACH.tolist(), pieces.tolist(), strict=True)
    ]
    degrees = np.array([each.sum(1).T for each in clusters], float)
    containing = np.array([(each > 0).mean(1).T for each in clusters])
    mean = (SKILLS_EACH * pieces)[:, None] * MEASURE
    share = np.array([containing_share(MEASURE, k) for k in SKILLS_EACH.tolist()])
    labels = {"skills a piece": SKILLS_EACH, "measure": MEASURE}
    return {
        "mean degree of a skill": Law(
            mean,
            degrees,
            along=labels,
            exact=True,
            aside={"first": degrees[0, :, :4000], "once": pieces[:, None] * share},
        ),
        "variance of the degree": Law(mean * (1 - MEASURE), (degrees - mean[..., None]) ** 2, along=labels, exact=True),
        "share of pieces that use a skill": Law(share, containing, along=labels, exact=True),
    }


@skill_degrees.control("pieces that use the skill for its edges", of="mean degree of a skill")
def edges_counted_once(evidence):
    return replace(evidence, predicted=evidence.aside["once"])


@skill_degrees.control("the pieces that contain a skill have its measure", of="share of pieces that use a skill")
def share_of_edges(evidence):
    return replace(evidence, predicted=np.broadcast_to(evidence.along["measure"], evidence.predicted.shape))


@skill_degrees.control("Poisson degrees", of="variance of the degree")
def poisson(evidence):
    return replace(evidence, predicted=evidence.predicted / (1 - np.asarray(evidence.along["measure"])))


@skill_degrees.control("k − 1 skills a piece", of="share of pieces that use a skill")
def one_skill_less(evidence):
    return replace(evidence, predicted=np.array([containing_share(MEASURE, int(k) - 1) for k in SKILLS_EACH]))


@skill_degrees.picture
def degrees_and_shares(pieces, settings):
    """Five skills a piece: degrees of the rarest in a cluster (left), the share of pieces that use a skill (right)."""
    degree, containing = pieces["mean degree of a skill"], pieces["share of pieces that use a skill"]
    rare, k = float(MEASURE[-1]), int(SKILLS_EACH[0])
    edges = k * settings["texts"]
    counts = np.arange(edges + 1)
    often = (
        np.bincount(np.asarray(degree.aside["first"][-1], int), minlength=edges + 1) / degree.aside["first"].shape[1]
    )
    shown = counts[: max(int(4 * rare * edges), 8)]
    spread = [
        Dots("seen", shown, often[shown]),
        Line("binomial", shown, binom.pmf(shown, edges, rare)),
        Line("", shown, poisson_law.pmf(shown, rare * edges), rival="Poisson"),
    ]
    mu = np.linspace(0, 0.5, 60)
    shares = [
        seen("seen", MEASURE, np.asarray(containing.observed)[0]),
        Line("1 − (1 − μ)^k", mu, containing_share(mu, k)),
        Line("", mu, mu, rival="μ, the share of edges"),
    ]
    return Row(
        [
            Curves(spread, x="edges of the skill in a cluster", y="probability"),
            Curves(shares, x="measure μ of the skill", y="share of pieces that use it", ys=(0, 1)),
        ]
    )


@claim(
    items={"A15.30": "worst sets below the theorem", "A15.32": "worst sets for fixed skills"},
    says=r"Tie every text piece to $k$ random skills. With high probability, for every set of $\theta|T|$ error pieces "
    r"all but an $\alpha$ fraction of the skills have at most $\beta\theta k|T|/|S|$ edges into it, $\beta$ the least "
    r"with $k\,\mathrm{kl}(\beta\alpha\|\alpha)\ge(H(\theta)+H(\alpha)|S|/|T|)/\theta$.",
    needs="at most θ|T| error pieces; edges drawn independently, uniform skills and pieces; |T| much larger than |S|",
    full=dict(texts=100_000),
    explore={"measure": ("uniform", "skewed"), "texts": (5000, 20_000)},
    symbols={
        "k": "the number of skills that a piece of text needs, each an edge of the skill graph",
        r"\theta": "the share of text pieces on which the model fails, the error pieces",
        "|T|, |S|": "the numbers of pieces and of skills",
        r"\alpha": "the share of skills that may be hit harder",
        r"\beta": "how much harder: edges into the error set, over their number if errors were spread evenly",
        r"\mathrm{kl}": "the relative entropy of two coins",
        "H": "the entropy of a coin, in nats",
    },
    why=r"For a fixed set of $\alpha|S|$ skills the worst error set takes the pieces that use them most: the number "
    r"of their skills in the set is binomial, and the worst $\beta$ itself tends to the mean of its top $\theta$ over "
    r"its mean. The theorem instead counts: there are $e^{H(\theta)|T|}$ error sets, each is so bad with probability "
    r"$e^{-k\theta|T|\mathrm{kl}(\beta\alpha\|\alpha)}$, and if the product is small none is. This counts overlapping "
    "events as if they were disjoint, and is not tight.",
    notice="All graphs have nearly the same worst concentration, that of the top of the binomial: the dots, one a "
    "setting, lie on their curves. The theorem's bound is well above. Errors can gather on a fixed quarter or fifth of "
    "the skills, but only to a few times their fair share.",
)
def worst_error_sets(
    key,
    *,
    texts: Annotated[int, Interval(ge=100, le=1_000_000)] = 20_000,
    trials: Trials = 12,
    measure: Literal["uniform", "skewed"] = "uniform",
    errors: Literal["a θ share", "all pieces"] = "a θ share",
):
    worst, bound, first, limit = [], [], np.empty((len(SETTINGS), trials)), []
    for i, (skills, group, k, theta) in enumerate(SETTINGS):
        weights = None if measure == "uniform" else np.arange(1.0, skills + 1) / (skills * (skills + 1) / 2)
        for t in range(trials):
            draw = jax.random.fold_in(key, 100 * i + t)
            # Every set Z on the first graph; on the others one fixed Z, whose worst case is then an independent draw.
            graph = skill_graph(draw, texts, skills, k, measure=weights)
            ratios = worst_concentration(graph, group, theta, among=None if t == 0 else 1)
            first[i, t] = ratios[0]
            if errors == "all pieces":
                ratios = graph[:, -group:].sum(keepdims=True) / (k * group / skills * theta * texts)
            worst.append(ratios.max())
            bound.append(first_moment_concentration(group / skills, theta, k, skills_per_text=skills / texts))
        limit.append(exact_concentration(group / skills, theta, k))
    labels = {"setting": np.array([f"|S|={s} |Z|={g} k={k} θ={t}" for s, g, k, t in SETTINGS])}
    looser = np.array([first_moment_concentration(g / s, t, k) for s, g, k, t in SETTINGS])
    fewer = np.array([exact_concentration(g / s, t, k - 1) for s, g, k, t in SETTINGS])
    return {
        "worst sets below the theorem": Inequality(np.array(worst), np.array(bound)),
        "worst sets for fixed skills": Law(
            np.array(limit), first, along=labels, exact=True, aside={"theorem": looser, "one less": fewer}
        ),
    }


worst_error_sets.control(
    "all pieces, held to the bound for θ|T| of them", of="worst sets below the theorem", errors="all pieces"
)
worst_error_sets.control("skills that are not uniform", of="worst sets below the theorem", measure="skewed")


@worst_error_sets.control("the first-moment ratio is the worst one", of="worst sets for fixed skills")
def first_moment_is_attained(evidence):
    return replace(evidence, predicted=evidence.aside["theorem"])


@worst_error_sets.control("k − 1 for k edges a piece", of="worst sets for fixed skills")
def one_edge_less(evidence):
    return replace(evidence, predicted=evidence.aside["one less"])


@worst_error_sets.picture
def worst_seen_and_stated(pieces):
    """The worst concentration of errors on a fixed set of skills: the limit (lines), means over graphs (dots)."""
    ks = np.arange(2, 13)
    marks: list[Any] = [Level("errors spread evenly", y=1.0)]
    for (skills, group, k, theta), observed in zip(
        SETTINGS, pieces["worst sets for fixed skills"].observed, strict=True
    ):
        alpha = group / skills
        name = f"α = {alpha:g}, θ = {theta:g}"
        marks += [Line(name, ks, exact_concentration(alpha, theta, ks)), seen(name, [k], observed[None])]
    skills, group, _, theta = SETTINGS[0]
    alpha = group / skills
    bound = first_moment_concentration(alpha, theta, ks)
    marks.append(Line(f"α = {alpha:g}, θ = {theta:g}", ks, bound, rival="the theorem's bound as if attained"))
    return Curves(marks, x="skills of a piece, k", y="concentration β", ys=(0, 6))


@claim(
    items={"A15.30": ""},
    says=r"With high probability over the random skill graph, error sets and skill sets found by search stay below "
    r"the $\beta$ with $k\theta\,\mathrm{kl}(\beta\alpha\|\alpha)=H(\theta)+H(\alpha)|S|/|T|$. With half as many "
    r"skills as pieces they pass the one without $|S|/|T|$.",
    needs="edges drawn independently, uniform skills and pieces",
    full=dict(texts=800, trials=16),
    symbols={
        "k": "the number of skills of a piece",
        r"\theta": "the share of pieces in error",
        r"\alpha": "the share of skills in question",
        r"\beta": "the concentration of errors on them",
        "|S|, |T|": "the numbers of skills and of pieces",
        r"\mathrm{kl}": "the relative entropy of two coins",
        "H": "the entropy of a coin, in nats",
    },
    why=r"The skills may be chosen after the graph is seen, too, and with many of them there are $e^{H(\alpha)|S|}$ "
    r"choices. Beside the $e^{H(\theta)|T|}$ error sets these do not matter while $|S|$ is much smaller than $|T|$; "
    "with as many skills as pieces they cost as much.",
    notice="A plain search, which lets the error set and the skill set answer each other in turn, finds ever more "
    "concentrated errors as there are more skills. It passes the dashed bound that counts error sets only, and stays "
    "below the one that counts both.",
)
def many_skills(
    key,
    *,
    texts: Annotated[int, Interval(ge=50, le=10_000)] = 400,
    trials: Trials = 8,
):
    alpha, theta, k, shares = 0.25, 0.1, 8, np.array([0.1, 0.5, 1.0])
    found = np.empty((len(shares), trials))
    for i, t in np.ndindex(*found.shape):
        draw, search = jax.random.fold_in(key, 2 * (100 * i + t)), jax.random.fold_in(key, 2 * (100 * i + t) + 1)
        skills = int(shares[i] * texts)
        found[i, t] = searched_concentration(search, skill_graph(draw, texts, skills, k), int(alpha * skills), theta)
    bounds = [first_moment_concentration(alpha, theta, k, skills_per_text=float(share)) for share in shares]
    without = first_moment_concentration(alpha, theta, k)
    return Inequality(
        found,
        np.array(bounds)[:, None],
        along={"skills per piece": shares},
        aside={"pieces alone": without, "setting": np.array([alpha, theta, k])},
    )


@many_skills.control("without the term |S|/|T|")
def pieces_alone(evidence):
    return replace(evidence, bound=np.full_like(evidence.bound, evidence.aside["pieces alone"]))


@many_skills.picture
def found_by_search(pieces):
    """Concentrations found by search in graphs with more and more skills a piece, below the bound that counts both."""
    found = pieces[""]
    shares = found.along["skills per piece"]
    x, (alpha, theta, k) = np.linspace(0.02, 1, 60), found.aside["setting"]
    bound = [first_moment_concentration(alpha, theta, int(k), skills_per_text=float(share)) for share in x]
    marks = [
        Dots("found by search", np.repeat(shares, found.quantity.shape[1]), found.quantity.ravel()),
        Line("bound", x, bound),
        Line("bound", x, np.full_like(x, found.aside["pieces alone"]), rival="without |S|/|T|"),
    ]
    return Curves(marks, x="skills per piece |S|/|T|", y="concentration β", ys=(2, 4))


@claim(
    items={"A15.32": ""},
    says=r"The exact worst concentration, the mean of the top $\theta$ of a Binomial$(k,\alpha)$ over its mean, lies "
    r"below that of $k\,\mathrm{kl}(\beta\alpha\|\alpha)=\ln(1/\theta)$, and that below the theorem's "
    r"$k\,\mathrm{kl}(\beta\alpha\|\alpha)=H(\theta)/\theta$; and all three are what their definitions say.",
    needs="|T| much larger than |S|; where no β is below 1/α the trivial 1/α stands",
    over=dict(alpha=Reals(1e-3, 0.95), theta=Reals(1e-3, 0.95), k=Integers(1, 64, log=True)),
    each="array",
    draws=128,
    symbols={
        r"\theta": "the share of pieces in error",
        "k": "the number of skills of a piece",
        r"\alpha": "the share of skills that is left out",
        r"\beta": "the concentration of errors on these",
        r"\mathrm{kl}": "the relative entropy of two coins",
        "H": "the entropy of a coin, in nats",
    },
    why=r"Looking only at an event of probability $\theta$ changes a law by at most $\ln(1/\theta)$ of relative "
    r"entropy, and to move the mean of $k$ coins from $\alpha$ to $\beta\alpha$ costs at least "
    r"$k\,\mathrm{kl}(\beta\alpha\|\alpha)$: hence the middle curve. The theorem pays $H(\theta)/\theta$ instead, "
    r"which is $\ln(1/\theta)$ and up to one nat more. No bound is needed at all, since the best event is known: it "
    "takes the largest values first.",
    notice="All skills but a small share can be guaranteed little: on the far right the curves go up, since few "
    "skills can be in error nearly always. The theorem's curve lies above the middle one, and this above what the "
    "worst error set really does; a model's competence is better than the theorem says.",
)
def performance_curves(alpha, theta, k):
    exact, text = exact_concentration(alpha, theta, k), first_moment_concentration(alpha, theta, k)
    sharper = change_of_measure_concentration(alpha, theta, k)
    links = {}
    # Each curve by its definition, from above and from below. At 1/α the entropy is log 1/α, the most there is.
    most = k * np.log(1 / alpha)
    for name, beta, budget in (
        ("change of measure", sharper, -np.log(theta)),
        ("first moment", text, (entr(theta) + entr(1 - theta)) / theta),
    ):
        spent, budget = k * np.asarray(binary_kl(np.minimum(beta * alpha, 1), alpha)), np.minimum(budget, most)
        links |= {f"{name} keeps its budget": (spent, budget), f"{name} spends its budget": (budget, spent)}
    x = np.arange(65)
    at = (x, k[:, None], alpha[:, None])
    # The best event of probability θ takes the largest values first, the last of them in part.
    top = (x * np.clip(theta[:, None] - binom.sf(*at), 0, binom.pmf(*at))).sum(-1) / (theta * k * alpha)
    links |= {"exact not above the top θ": (exact, top), "exact not below the top θ": (top, exact)}
    gaussian = 1 + np.sqrt(2 * np.log(1 / theta) * (1 - alpha) / (k * alpha))
    gaussian, sharper, text = (np.minimum(curve, 1 / alpha) for curve in (gaussian, sharper, text))
    links |= {
        "exact below change of measure": (exact, sharper),
        "change of measure below first moment": (sharper, text),
    }
    return Chain(links, error=1e-9 / alpha, aside={"gaussian": gaussian, "by one coin less": k / (k + 1)})


@performance_curves.control("a Gaussian tail of the binomial variance")
def gaussian_tail(evidence):
    exact, _ = evidence.links["exact below change of measure"]
    return replace(evidence, links={"exact below the Gaussian": (exact, evidence.aside["gaussian"])})


@performance_curves.control("k + 1 for k in the change of measure")
def one_coin_more(evidence):
    spent, budget = evidence.links["change of measure keeps its budget"]
    return replace(evidence, links={"one coin more": (spent / evidence.aside["by one coin less"], budget)})


@claim(
    items={"A15.31": ("logarithm of the first moment", "where the moment vanishes", "binomials by entropies")},
    says=r"The logarithm of the expected number of bad pairs, over $|T|$, tends to "
    r"$H(\theta)-k\theta\,\mathrm{kl}(\beta\alpha\|\alpha)$ at fixed $|S|$, and the $\beta$ at which it changes sign "
    r"to the zero of this; and $\binom{N}{tN}\le e^{NH(t)}$ at every size, with $H$ in nats.",
    symbols={
        "|T|, |S|": "the numbers of pieces of text and of skills; each piece uses $k$ skills",
        r"\text{bad pair}": r"a share $\theta$ of the pieces and a share $\alpha$ of the skills with $\beta$ times as "
        "many uses of these skills by these pieces as there are on average",
        r"\beta": "the concentration of errors",
        r"\mathrm{kl}": "the relative entropy of two coins",
        "N, t": "a number of things, and the share of them that is chosen",
        "H": "the entropy of a coin, in nats",
    },
    why="The expected number of pairs of an error set and a skill set that are too concentrated is a product of "
    "binomial coefficients and powers. Each coefficient is $e^{NH(t)}$ up to a factor polynomial in $N$, whose "
    "logarithm vanishes beside $|T|$. What is left is a margin whose sign decides whether bad pairs are expected at "
    "all.",
    notice="At finite sizes the threshold is off by the logarithm of the polynomial factors over $|T|$, which is next "
    "to nothing from a thousand pieces on: the distance falls nearly by ten with each tenfold number of pieces.",
)
def first_moment_bound():
    texts = 10.0 ** np.arange(3, 8)
    alpha, theta, k, skills = 0.25, 0.1, 8, 12

    def moment(beta, size):
        return log_first_moment(size, skills, alpha, beta, theta, k) / size

    gaps = [abs(moment(2.5, size) - emergence_margin(alpha, 2.5, theta, k)) for size in texts]
    beta = first_moment_concentration(alpha, theta, k)
    roots = np.array([brentq(moment, 1.5, 3.99, args=(size,)) for size in texts])
    n, share = np.meshgrid([2.0, 10.0, 100.0, 10_000.0], np.linspace(0.02, 0.98, 49))
    parts = np.round(share * n)
    chosen = gammaln(n + 1) - gammaln(parts + 1) - gammaln(n - parts + 1)
    return {
        "logarithm of the first moment": Limit(
            texts, np.array(gaps), order=1.0, aside={"entropy of Y": entr(theta) + entr(1 - theta)}
        ),
        "where the moment vanishes": Limit(
            texts, np.abs(roots - beta), order=1.0, aside={"roots": roots, "limit": beta}
        ),
        "binomials by entropies": Inequality(chosen, n * (entr(parts / n) + entr(1 - parts / n)), log=True),
    }


@first_moment_bound.control("2 for e, with H still in nats", of="binomials by entropies")
def mixed_bases(evidence):
    return replace(evidence, bound=evidence.bound * np.log(2))


@first_moment_bound.control("without the entropy of the choice of Y", of="logarithm of the first moment")
def no_choice(evidence):
    return replace(evidence, y=evidence.y + evidence.aside["entropy of Y"])


@first_moment_bound.control("a threshold one percent higher", of="where the moment vanishes")
def higher_threshold(evidence):
    return replace(evidence, y=np.abs(evidence.aside["roots"] - 1.01 * evidence.aside["limit"]))


@first_moment_bound.picture
def thresholds(pieces):
    """The β at which bad pairs stop being expected, by the number of pieces (left), and its distance (right)."""
    found = pieces["where the moment vanishes"]
    left = [
        Dots("expected number is one", found.x, found.aside["roots"]),
        Level("theorem", y=float(found.aside["limit"])),
    ]
    right = [Dots("distance", found.x, found.y), Line("order 1/|T|", found.x, found.y[-1] * found.x[-1] / found.x)]
    return Row(
        [
            Curves(left, x="pieces |T|", y="threshold of β", log="x"),
            Curves(right, x="pieces |T|", y="distance to the theorem", log="xy"),
        ]
    )


@performance_curves.picture
def edges_in_error(pieces):
    """The share of edges in error against the share of skills: the theorem, a change of measure, the exact curve."""
    skills = np.linspace(0.05, 0.95, 91)
    curves = {
        "theorem": first_moment_concentration,
        "change of measure": change_of_measure_concentration,
        "exact": exact_concentration,
    }
    marks = [Line(name, skills, 0.1 * np.asarray(curve(1 - skills, 0.1, 8))) for name, curve in curves.items()]
    return Curves(marks, x="share of skills 1 − α", y="share of edges in error βθ", ys=(0, 1))
