"""Texts that want to run in a browser, and a run, a shelf and a league in which every text is one of them."""

from dataclasses import replace

import numpy as np

from deeptheory.generalization.league.table import Entry, League
from deeptheory.lab import Chain, Counterexample, Exact, Inequality, Law, Printed, claim
from deeptheory.lab.run import ControlResult

PAYLOADS = [
    "<script>window.pwned=1</script>",
    r"$\text{<script>window.pwned=1</script>}$",
    r"$$\mathrm{x}\text{</mtext></math><script>window.pwned=1</script>}$$",
    r"$\href{javascript:window.pwned=1}{press}$",
    r"$\href{data:text/html,<script>window.pwned=1</script>}{press}$",
    "<img src=x onerror=window.pwned=1>",
    r"$\text{<img src=x onerror='window.pwned=1' />}$",
    "<svg onload=window.pwned=1></svg>",
    r"$\text{<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=1'></svg>}$",
    r"$\text{<annotation-xml encoding='text/html'><img src='x' onerror='window.pwned=1' /></annotation-xml>}$",
    r"$\text{<maction actiontype='statusline' xlink:href='javascript:window.pwned=1'>x</maction>}$",
    r"$\style{background:url(javascript:window.pwned=1)}{x}$",
    r"$\class{x' onmouseover='window.pwned=1}{x}$",
    r"$\color{red' onclick='window.pwned=1}x$",
    r"$\text{&lt;script&gt;window.pwned=1&lt;/script&gt;}$",
    r"$\text{&#60;script&#62;window.pwned=1&#60;/script&#62;}$",
    r"$\unicode{<script>window.pwned=1</script>}$",
    '" autofocus onfocus="window.pwned=1" x="',
    "' onmouseover='window.pwned=1' style='position:fixed;inset:0' x='",
    "</script><script>window.pwned=1</script>",
    "<!--<script>",
    "]]><script>window.pwned=1</script>",
    "</style></title></textarea></noscript><script>window.pwned=1</script>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<base href='https://example.invalid/'><form action=x><button autofocus>",
    "<meta http-equiv=refresh content='0;url=javascript:window.pwned=1'>",
    "<a href='javascript:window.pwned=1'>press</a>",
    "x^{<img src=x onerror=window.pwned=1>} a_b^(<script>window.pwned=1</script>)",
    "{{ 7 * 7 }} {% raw %} ${window.pwned=1} `${window.pwned=1}`",
    "datum.constructor.constructor('window.pwned=1')()",
    "\u2028<script\x0c>window.pwned=1</script>\x1b\uffff",
]
EVERY = " ; ".join(PAYLOADS)
WORDS = np.asarray(PAYLOADS)
NUMBERS = np.arange(1.0, len(PAYLOADS) + 1)


@claim(items={"J7.4": ""}, says=EVERY, needs=EVERY, scale=EVERY)
def hostile(key):
    ones = np.ones(len(PAYLOADS))
    spread = np.linspace(-1, 1, 64)
    return {
        EVERY: Chain({each: (0 * ones, ones) for each in PAYLOADS}),
        PAYLOADS[0]: Exact(WORDS, WORDS, along={PAYLOADS[19]: WORDS}),
        PAYLOADS[5]: Printed(NUMBERS, NUMBERS, along={"image": WORDS}),
        PAYLOADS[17]: Law(NUMBERS, NUMBERS[:, None] * (1 + 1e-4 * spread), along={"image": WORDS}, exact=True),
        PAYLOADS[20]: Inequality(NUMBERS, 2 * NUMBERS, along={PAYLOADS[18]: NUMBERS}),
        PAYLOADS[29]: Counterexample({each: np.asarray([1.0]) for each in PAYLOADS}, EVERY, EVERY, True, EVERY),
    }


def hostile_run():
    """A run of it that says hostile things wherever a run says anything."""
    run = hostile.check()
    return replace(
        run,
        items={"J7.4": "holds", EVERY: "refuted"},
        reason=EVERY + "\u2028<scr\x00ipt>window.pwned=1</scr\x00ipt>",
        strength=EVERY,
        controls=[ControlResult(each, "refuted", each, each) for each in PAYLOADS],
        parameters={each: [each, each] for each in PAYLOADS},
        judgements={name: replace(j, reason=EVERY, strength=EVERY) for name, j in run.judgements.items()},
        timing={each: 1.0 for each in PAYLOADS},
        platform=", ".join(PAYLOADS),
        source=EVERY,
        seed=EVERY,
    )


def hostile_league():
    names = [Entry(each, each, 0.5, of=each, invariant=each) for each in PAYLOADS]
    unmet = [Entry(each, each, None, (each,), of=each, invariant=each) for each in PAYLOADS]
    return League([*names, *unmet], 0.1, 0.2, 100, 50, 0.05, facts={each: each for each in PAYLOADS})


COUNTEREXAMPLE = {
    "statement": EVERY,
    "control": EVERY,
    "instance": {each: each for each in PAYLOADS},
    "counterexample": {"quantity": EVERY, "bound": EVERY, "how": EVERY},
}
