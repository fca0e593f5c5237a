"""Finding by words: claims, functions and items that speak of something, best first. Answers without importing JAX."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

from deeptheory import books
from deeptheory.formulas import clipped, readable
from deeptheory.lab.entries import catalogue

__all__ = ["Findings", "Hit", "find"]

KINDS = ("function", "claim", "item")
UNSAID = re.compile("an?|and|as|at|by|for|from|how|i|in|is|of|on|or|that|the|this|to|what|when|which|with")
"""Words that say nothing about what is looked for."""
MEANT = {
    "ntk": "tangent kernel", "nngp": "gaussian process", "gd": "gradient descent", "sgd": "stochastic gradient",
    "sde": "stochastic differential", "gp": "gaussian process", "lr": "step size", "krr": "kernel ridge",
    "pl": "polyak lojasiewicz", "mp": "marchenko pastur", "wl": "weisfeiler leman", "bbp": "spiked transition",
    "cnn": "convolutional", "rnn": "recurrent", "gnn": "graph network", "gcn": "graph network", "mlp": "perceptron",
    "gan": "discriminator", "vae": "autoencoder", "svm": "largest margin", "pca": "principal component",
    "erm": "empirical risk", "sgld": "langevin", "eos": "edge stability", "bn": "batch norm", "llm": "language model",
    "icl": "in context",
}  # fmt: skip
"""What people type, and what our names say for it."""
ACCENTED, WORD = re.compile("[à-ž]"), re.compile(r"[^\W_]+")
ENDINGS = ("s", "es", "e", "d", "ed", "y", "ly", "al")
"""What an inflection adds: saddles are a saddle, but a transformer is no transform."""
MOST = 40
"""Words that are looked for together."""
NAME, TEXT, TOLD = 3.0, 1.0, 0.5
"""How much a word counts in a name, in the sentence beside it, and in what is told further on."""


@dataclass(frozen=True)
class Hit:
    """Something found: its kind, its name, what it says, and what to paste to use it (`import deeptheory as dt`)."""

    kind: str
    name: str
    says: str
    paste: str


class Findings(list[Hit]):
    """What was found, best first within each kind: functions, claims, items of the books."""

    def of(self, kind: str) -> "Findings":
        return Findings(each for each in self if each.kind == kind)

    def __str__(self) -> str:
        said = []
        for kind in KINDS:
            said += [f"{kind}s"] if self.of(kind) else []
            said += [f"  {each.paste or each.name}\n      {clipped(each.says, 110)}" for each in self.of(kind)]
        return "\n".join(said)

    __repr__ = __str__


def find(words: str, *, most: int = 8) -> Findings:
    """Claims, functions and items of the books that speak of these words, best first, with the line to paste.

    A word also finds longer ones that begin with it ("marchenko", "regress"), and of several words those that occur
    together count first. `most` is how many of each kind are shown.
    """
    if not isinstance(words, str):
        raise ValueError(f"what to look for is a text, not {words!r:.80}")
    if isinstance(most, bool) or not isinstance(most, Integral) or most < 1:
        raise ValueError(f"most must be a whole number from 1, not {most!r}")
    wanted = list(dict.fromkeys(word for word in spelt(words) if not UNSAID.fullmatch(word)))
    if not wanted:
        raise ValueError(f"there is no word to look for in {words!r:.80}")
    if len(wanted) > MOST:
        raise ValueError(f"at most {MOST} words are looked for together, not {len(wanted):,}")
    found = Findings()
    for kind in KINDS:
        own = [text.read() for text in _texts(kind) if text.may_say(wanted)]
        scores = _scores(wanted, own)
        ranked = sorted((place for place in range(len(own)) if scores[place] > 0), key=lambda place: -scores[place])
        found += [own[place].hit() for place in ranked[: int(most)]]
    if not found:
        near = _nearest(wanted)
        raise ValueError(f"nothing speaks of {words!r:.80}" + (f"; did you mean {' '.join(near)}?" if near else ""))
    return found


def spelt(text: str) -> list[str]:
    """The words of a text without accents, capitals and signs."""
    plain = text.casefold().replace("ł", "l").replace("'s", "")
    if ACCENTED.search(plain):
        plain = "".join(sign for sign in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(sign))
    return WORD.findall(plain)


@dataclass
class _Text:
    """What may be found: a name and what is said beside it, of which the words are read only if they may matter."""

    kind: str
    name: str
    says: str
    paste: str
    title: str
    about: str
    further: str = ""
    named: Sequence[str] = ()
    beside: Sequence[str] = ()
    told: Sequence[str] = ()

    def may_say(self, words: Iterable[str]) -> bool:
        """Whether a word, or what it stands for, could occur; to look for its stem is faster than to read all words."""
        whole = f"{self.title} {self.about} {self.further}".casefold()
        stems = (_stem(each) for word in words for each in (word, *MEANT.get(word, "").split()))
        return ACCENTED.search(whole) is not None or any(stem in whole for stem in stems)

    def read(self) -> "_Text":
        self.named, self.beside, self.told = spelt(self.title), spelt(self.about), spelt(self.further)
        return self

    def hit(self) -> Hit:
        return Hit(self.kind, self.name, readable(self.says), self.paste)


def _texts(kind: str) -> Iterator[_Text]:
    """All there is to find of a kind."""
    if kind == "function":
        for each in catalogue().functions:
            about = f"{each.says} {each.module}"
            yield _Text(kind, each.name + each.takes, each.says, each.line, each.name, about)
    elif kind == "claim":
        for entry in catalogue().claims.values():
            about = f"{entry.says} {entry.needs} {entry.subject} {entry.theme} {' '.join(entry.symbols.values())}"
            served = " ".join(books.item(name).title for name in entry.items)
            further = f"{served} {entry.why} {entry.notice}"
            yield _Text(kind, entry.name, entry.says, f'dt.check("{entry.name}")', entry.name, about, further)
    else:
        for item in books.items():
            where = f"{item.book} {item.where[0]}" if item.where else item.book
            paste = f'dt.check("{item.id}")' if catalogue().serving(item.id) else ""
            about = f"{item.kind} {item.room} {where}"
            yield _Text(kind, f"{item.id}, {where}", item.title, paste, item.title, about)


def _stem(word: str) -> str:
    """The least of a word that stands in every word that says it."""
    return next((word[:-cut] for cut in (2, 1) if len(word) - cut >= 4), word)


def _scores(wanted: Sequence[str], texts: Sequence[_Text]) -> list[float]:
    """How well each text fits: rare words count more, words of a name more than others, and all together most."""
    total, met = [0.0] * len(texts), [0] * len(texts)
    vocabulary = _vocabulary(texts)
    for word in wanted:
        said = [[word], *filter(None, [MEANT.get(word, "").split()])]
        meanings = [[_alike(each, vocabulary) for each in words] for words in said]
        weights = [max(min(_weight(like, text) for like in words) for words in meanings) for text in texts]
        common = sum(weight > 0 for weight in weights)
        for place, weight in enumerate(weights):
            if weight:
                # Of two names that have the word, the shorter says it more plainly.
                total[place] += weight * math.log(1 + len(texts) / common) - 0.01 * len(texts[place].named)
                met[place] += 1
    best = max(met, default=0)
    return [score if hits == best else 0.0 for score, hits in zip(total, met, strict=True)]


def _weight(like: Mapping[str, float], text: _Text) -> float:
    """How plainly a text says a word, given the words that say it."""
    named = max((like[word] for word in text.named if word in like), default=0.0)
    beside = max((like[word] for word in text.beside if word in like), default=0.0)
    told = max((like[word] for word in text.told if word in like), default=0.0)
    return max(NAME * named, TEXT * beside, TOLD * told)


def _alike(word: str, vocabulary: Iterable[str]) -> dict[str, float]:
    """The words that say this one: itself, those that begin with it, and those of which it is an inflection."""
    longer = {other: 0.7 for other in vocabulary if len(word) >= 3 and other.startswith(word)}
    stems = (word.removesuffix(ending) for ending in ENDINGS if word.endswith(ending))
    return longer | {stem: 0.7 for stem in stems if len(stem) >= 4} | {word: 1.0}


def _vocabulary(texts: Iterable[_Text]) -> set[str]:
    return {word for text in texts for word in (*text.named, *text.beside, *text.told)}


def _nearest(wanted: Sequence[str]) -> list[str]:
    """The words nearest to those that nothing has."""
    import difflib

    known = {word for kind in KINDS for word in _vocabulary(map(_Text.read, _texts(kind))) if len(word) > 2}
    return [near[0] for word in wanted if (near := difflib.get_close_matches(word, known, 1, 0.75))]
