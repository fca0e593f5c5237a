"""Linear equations modulo a prime, solved by a chain of small steps (handbook 14.3, after Feng and others 2023)."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.reasoning.table_transformer import think_aloud, transformer_of_tables
from deeptheory.reasoning.traces import depth, elimination_trace, replayed

PRIMES, SIZES, SYSTEMS = (2, 3, 5, 7), (1, 2, 3, 4, 5), 4
RULES = ("fill", "take away", "multiply", "invert")


@cache
def vectors(n, prime):
    """All vectors of n numbers modulo a prime."""
    return np.array(list(product(range(prime), repeat=n)))


def solutions(matrix, right, prime):
    """All solutions, by trying all vectors."""
    every = vectors(len(matrix), prime)
    return every[(every @ matrix.T % prime == right % prime).all(1)]


def solvable(rng, n, prime):
    """A system that has exactly one solution, and that one."""
    while True:
        matrix, right = rng.integers(0, prime, (n, n)), rng.integers(0, prime, n)
        found = solutions(matrix, right, prime)
        if len(found) == 1:
            return matrix, right, found[0]


def padded(values):
    """Solutions of several sizes in one array."""
    return np.array([*values, *[0] * (max(SIZES) - len(values))])


def answer(trace, n):
    """The last n values of a chain."""
    return padded([step.value for step in trace[-n:]])


def own_pivots(trace):
    """The chain in which every entry looks at itself for a zero, and not at the pivot of its row."""
    return replayed(
        [step._replace(reads=(step.reads[1], *step.reads[1:])) if step.rule == "fill" else step for step in trace]
    )


def one_column_early(trace, n):
    """The chain whose answers are read off before the last column is cleared."""
    last = [
        step._replace(reads=(trace[step.reads[0]].reads[0], step.reads[1])) if row < n - 1 else step
        for row, step in enumerate(trace[-n:])
    ]
    return replayed([*trace[:-n], *last])


def tables(prime):
    """What the four rules give, for all values that they may read."""
    a, b, c = np.ogrid[:prime, :prime, :prime]
    inverses = [next((y for y in range(prime) if x * y % prime == 1), 0) for x in range(prime)]
    return [np.where(a == 0, b + c, b + 0 * c) % prime, (a - b * c) % prime, a[..., 0] * b[..., 0] % prime,
            np.array(inverses)]  # fmt: skip


def written(network, traces, n):
    """What the transformer writes last, told of each system what is given and of each token what it reads."""
    known = n * (n + 1)
    steps = traces[0][known:]
    given = np.array([[step.value for step in trace[:known]] for trace in traces])
    reads = np.array([(*step.reads, 0, 0)[:3] for step in steps])
    thoughts = think_aloud(network, given, np.array([RULES.index(step.rule) for step in steps]), reads)
    return [padded(row) for row in thoughts[:, -n:]]


def within_reach(trace):
    """By depth from 1 on, the largest number of given values on which a step of that depth rests."""
    rests, most = [], [0] * (depth(trace) + 1)
    for place, step in enumerate(trace):
        levels, known = zip(*(rests[read] for read in step.reads), strict=True) if step.reads else ((-1,), ({place},))
        rests.append((1 + max(levels), set().union(*known)))
        most[rests[-1][0]] = max(most[rests[-1][0]], len(rests[-1][1]))
    return np.array(most[1:])


def numbers_that_matter(rng, n, prime):
    """How many of the given numbers change x₁ in some system when they alone are changed."""
    matters = np.zeros((n, n + 1), bool)
    for _ in range(60):  # a change is seen about every other time: none is missed in so many
        matrix, right, found = solvable(rng, n, prime)
        system = np.column_stack([matrix, right])
        for place in np.ndindex(system.shape):
            changed = system.copy()
            changed[place] += rng.integers(1, prime)
            others = solutions(changed[:, :n], changed[:, n], prime)
            matters[place] |= len(others) == 1 and others[0, 0] != found[0]
    return int(matters.sum())


@claim(
    items={
        "H14.4": (
            "solutions at the end of the chain",
            "numbers of steps, and their depth",
            "given numbers within reach of a depth",
            "given numbers that an answer depends on",
            "one transformer eliminates at every size",
        )
    },
    says=r"$n$ linear equations modulo a prime $p$ are solved in $n(5n-1)(n+2)/6$ steps, each a rule for at "
    r"most three earlier numbers, $n(n+5)/2+1$ deep if $n>1$. One transformer writes them at every $n$. Answers "
    r"depend on all $n(n+1)$ given numbers; $D$ steps deep reach $3^D$.",
    needs="matrices with an inverse; the places that a token reads come with its position, and attention is as sharp "
    "as the longest chain needs. That fixed depth does not suffice with unbounded fan-in is not proved, here or "
    "elsewhere",
    symbols={
        r"n": "the number of equations, and of unknowns",
        r"p": "the prime",
        r"D": "how many steps stand on top of each other",
    },
    why="Where $m$ rows are left, a column takes $m^2-1$ numbers to fill up a pivot that may be zero, an inverse, "
    r"$n-1$ shares and $m(n-1)$ numbers to take them away from; summed over $m=1,\dots,n$, with a product for each "
    "unknown at the end, that is the count. No rule needs more than three numbers, so a table of $p^3$ entries, the "
    "hidden layer of the network, does for every $n$. At once, in a depth that does not grow with $n$, steps of "
    "bounded size cannot even read the question.",
    notice=r"The chain grows like $n^3$ and its depth like $n^2$. Below lies the least depth at which an answer "
    r"can depend on all given numbers, $\log_3n(n+1)$: it grows too.",
)
def elimination_in_small_steps(key):
    rng = generator(key)
    found, true, wrong, early, wrote, dull = ([] for _ in range(6))
    for prime in PRIMES:
        places = max(SIZES) * (max(SIZES) + 1) + counted(max(SIZES))
        network, blurred = (transformer_of_tables(tables(prime), places=size) for size in (places, 6 + counted(2)))
        for n in SIZES:
            systems = [solvable(rng, n, prime) for _ in range(SYSTEMS)]
            traces = [elimination_trace(matrix, right, modulus=prime) for matrix, right, _ in systems]
            true += [padded(each) for _, _, each in systems]
            found += [answer(trace, n) for trace in traces]
            wrong += [answer(own_pivots(trace), n) for trace in traces]
            early += [answer(one_column_early(trace, n), n) for trace in traces]
            wrote += written(network, traces, n)
            dull += written(blurred, traces, n)
    cells = {"prime": PRIMES, "equations": SIZES, "system": np.arange(SYSTEMS), "unknown": 1 + np.arange(max(SIZES))}
    found, true, wrong, early, wrote, dull = (
        np.reshape(each, [len(axis) for axis in cells.values()]) for each in (found, true, wrong, early, wrote, dull)
    )
    sizes = np.arange(1, 9)
    chains = [elimination_trace(np.eye(n, dtype=int), np.ones(n, int), modulus=7) for n in sizes.tolist()]
    lengths = np.array([[len(chain) - n * (n + 1), depth(chain)] for n, chain in zip(sizes, chains, strict=True)])
    reached = within_reach(chains[-1])
    return {
        "solutions at the end of the chain": Exact(
            found, true, along=cells, aside={"own pivots": wrong, "one column early": early}
        ),
        "numbers of steps, and their depth": Exact(
            lengths,
            np.stack([counted(sizes), np.where(sizes > 1, sizes * (sizes + 5) // 2 + 1, 2)], 1),
            along={"equations": sizes, "number": ["steps", "depth"]},
        ),
        "given numbers within reach of a depth": Inequality(
            np.log(reached), np.arange(1, len(reached) + 1) * np.log(3), log=True,
            along={"depth": np.arange(1, len(reached) + 1)},
        ),
        "given numbers that an answer depends on": Exact(
            [numbers_that_matter(rng, n, 5) for n in (1, 2, 3, 4)], [n * (n + 1) for n in (1, 2, 3, 4)],
            along={"equations": [1, 2, 3, 4]},
        ),
        "one transformer eliminates at every size": Exact(wrote, true, along=cells, aside={"dull": dull}),
    }  # fmt: skip


def counted(n):
    """Steps of a chain after what is given."""
    return n * (5 * n - 1) * (n + 2) // 6


@elimination_in_small_steps.control(
    "an entry is filled up where it is zero, not where the pivot is", of="solutions at the end of the chain"
)
def at_zeros(evidence):
    return replace(evidence, left=evidence.aside["own pivots"])


@elimination_in_small_steps.control(
    "a column is left out, and the depth with it", of="solutions at the end of the chain"
)
def too_early(evidence):
    return replace(evidence, left=evidence.aside["one column early"])


@elimination_in_small_steps.control(
    "as many steps as below the pivots, and back", of="numbers of steps, and their depth"
)
def triangular(evidence):
    n = np.asarray(evidence.along["equations"])
    back = n * (n + 1) * (2 * n + 1) // 3 + n * (n + 1) // 2 - n
    return replace(evidence, right=np.stack([back, evidence.right[:, 1]], 1))


@elimination_in_small_steps.control("four levels a column, and one", of="numbers of steps, and their depth")
def four_a_column(evidence):
    n = np.asarray(evidence.along["equations"])
    return replace(evidence, right=np.stack([evidence.right[:, 0], 4 * n + 1], 1))


@elimination_in_small_steps.control("within reach of steps of two numbers", of="given numbers within reach of a depth")
def steps_of_two(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) * np.log(2) / np.log(3))


@elimination_in_small_steps.control(
    "of the right sides only its own matters", of="given numbers that an answer depends on"
)
def own_right_side(evidence):
    n = np.asarray(evidence.along["equations"])
    return replace(evidence, right=n**2 + 1)


@elimination_in_small_steps.control(
    "attention as sharp as two equations need", of="one transformer eliminates at every size"
)
def blurred_attention(evidence):
    return replace(evidence, left=evidence.aside["dull"])


@elimination_in_small_steps.picture
def lengths_by_equations(pieces):
    """Steps of the chain and its depth by the number of equations, and the least depth that can read them all."""
    piece = pieces["numbers of steps, and their depth"]
    n = np.asarray(piece.along["equations"])
    marks = [Dots(name, n, np.asarray(piece.left)[:, i]) for i, name in enumerate(("steps", "depth"))]
    lines = [Line(name, n, np.asarray(piece.right)[:, i], thin=True) for i, name in enumerate(("steps", "depth"))]
    least = Line("least depth that reads all", n, np.ceil(np.log(n * (n + 1)) / np.log(3)))
    return Curves([*marks, *lines, least], x="equations", y="number", log="y")
