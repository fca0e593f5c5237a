"""f-divergences of finite laws: which ones they are, what a critic finds of them, and what merging outcomes does."""

from dataclasses import replace

import numpy as np
from scipy.special import rel_entr

from deeptheory.foundations.randomness import generator
from deeptheory.generative.divergences import GENERATORS, best_critic, critic_value, f_divergence
from deeptheory.lab import Chain, Count, Identity, claim
from deeptheory.lab.pictures import Curves, Line

KINDS = tuple(GENERATORS)


@claim(
    items={
        "A16.1": ("each divergence written out", "what the best critic finds", "what every divergence obeys"),
        "A16.2": ("t log t is relative entropy", "half |t−1| is total variation", "what every divergence obeys"),
    },
    says=r"For convex $f$ with $f(1)=0$ the divergence $D_f(P\|Q)=\sum q\,f(p/q)$ is never negative, $t\log t$ gives "
    r"$\mathrm{KL}$ and $\tfrac12|t-1|$ half the $\ell_1$ distance. It is $\sup_TE_PT-E_Qf^*(T)$, attained at "
    r"$T=f'(p/q)$, and merging outcomes never raises it.",
    needs="laws on a finite set without zeros",
    full=dict(laws=4000),
    symbols={
        "f": "a convex function of the ratio of probabilities",
        "P, Q": "two laws on a finite set, with probabilities $p$ and $q$",
        "T": "a critic: any function on the set",
        "f^*": "the convex conjugate of $f$",
    },
    why=r"By Jensen $E_Qf(p/q)\ge f(E_Qp/q)=f(1)$, and the same step inside each group of merged outcomes says that "
    r"merging loses. Since $f(t)=\sup_y(ty-f^*(y))$, replacing $f(p/q)$ by the line of slope $T$ at every outcome "
    r"bounds it from below, and the tangent does not lose.",
    notice="Each curve vanishes where the two laws agree and nowhere else. Total variation alone has a corner there. "
    "Relative entropy and chi square leave the panel where the loaded coin forgets a side; the others stay bounded.",
)
def divergences_and_their_critics(key, *, laws: Count = 200):
    draw = generator(key)
    p, q, r = 0.1 / 6 + 0.9 * draw.dirichlet(np.ones(6), size=(3, laws))
    p[0] = q[0]
    found = np.array([f_divergence(p, q, kind) for kind in KINDS])
    middle = (p + q) / 2
    written = {
        "kl": rel_entr(p, q).sum(-1),
        "reverse kl": rel_entr(q, p).sum(-1),
        "total variation": np.maximum(p - q, 0).sum(-1),
        "chi square": (p**2 / q).sum(-1) - 1,
        "hellinger": 1 - np.sqrt(p * q).sum(-1),
        "jensen-shannon": (rel_entr(p, middle) + rel_entr(q, middle)).sum(-1) / 2,
    }
    critics = [best_critic(p, q, kind) for kind in KINDS]
    attained = [critic_value(p, q, critic, kind) for critic, kind in zip(critics, KINDS, strict=True)]
    # Halfway between two best critics is a critic whose values the conjugate takes.
    others = [(best_critic(p, q, kind) + best_critic(p, r, kind)) / 2 for kind in KINDS]
    lower = [critic_value(p, q, critic, kind) for critic, kind in zip(others, KINDS, strict=True)]
    merged = np.array([f_divergence(p.reshape(-1, 3, 2).sum(-1), q.reshape(-1, 3, 2).sum(-1), k) for k in KINDS])
    mixed = np.array([f_divergence((p + r) / 2, (q + r[::-1]) / 2, kind) for kind in KINDS])
    mean = np.array([(f_divergence(p, q, k) + f_divergence(r, r[::-1], k)) / 2 for k in KINDS])
    rounding = 1e-13 * (1 + np.max(found))
    heads = np.linspace(0.02, 0.98, 97)
    coins = np.array([f_divergence(np.full(2, 0.5), np.stack([heads, 1 - heads], axis=1), kind) for kind in KINDS])
    return {
        "each divergence written out": Identity(
            found,
            np.array([written[kind] for kind in KINDS]),
            scale=1 + np.abs(found),
            along={"divergence": KINDS},
            aside={"heads": heads, "coins": coins},
        ),
        "t log t is relative entropy": Identity(
            found[0], np.sum(p * (np.log(p) - np.log(q)), axis=-1), scale=1 + found[0], aside={"other": found[1]}
        ),
        "half |t−1| is total variation": Identity(found[2], np.abs(p - q).sum(-1) / 2, scale=1.0),
        "what the best critic finds": Identity(
            np.array(attained),
            found,
            scale=10 + np.abs(found),
            along={"divergence": KINDS},
            aside={"without the one": critic_value(p, q, np.log(p / q), "kl")},
        ),
        "what every divergence obeys": Chain(
            {
                "nonnegative": (np.zeros_like(found), found + rounding),
                "after merging": (merged, found + rounding),
                "of mixtures": (mixed, mean + rounding),
                "what any critic finds": (np.array(lower), found + rounding),
            }
        ),
    }


@divergences_and_their_critics.control("the other order of the two laws", of="t log t is relative entropy")
def the_other_order(evidence):
    return replace(evidence, left=evidence.aside["other"])


@divergences_and_their_critics.control("the whole l1 distance", of="half |t−1| is total variation")
def whole_distance(evidence):
    return replace(evidence, right=2 * evidence.right)


@divergences_and_their_critics.control("the critic log p/q for relative entropy", of="what the best critic finds")
def critic_without_the_one(evidence):
    return replace(evidence, left=np.vstack([evidence.aside["without the one"][None], evidence.left[1:]]))


@divergences_and_their_critics.control("convex functions with f(1) = -1/20", of="what every divergence obeys")
def not_normalised(evidence):
    zero, found = evidence.links["nonnegative"]
    return replace(evidence, links=evidence.links | {"nonnegative": (zero, found - 1 / 20)})


@divergences_and_their_critics.picture
def fair_and_loaded(pieces):
    """Divergences of a fair coin from a loaded one, by the probability of heads."""
    piece = pieces["each divergence written out"]
    heads, coins = piece.aside["heads"], piece.aside["coins"]
    written = {"kl": "KL", "hellinger": "Hellinger", "jensen-shannon": "Jensen–Shannon", "reverse kl": "reverse KL"}
    marks = [Line(written.get(kind, kind), heads, curve) for kind, curve in zip(KINDS, coins, strict=True)]
    return Curves(marks, x="probability of heads of the loaded coin", y="divergence of the fair coin", ys=(0, 1.2))
