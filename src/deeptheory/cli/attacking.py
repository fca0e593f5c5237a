"""The command that attacks claims with wrong versions of their mathematics."""

from pathlib import Path
from typing import Annotated

import typer

from deeptheory.cli.app import AUTHORS, JOBS, PATH, Jobs, Json, Refused, Seed, What, app, emit, within
from deeptheory.names import entries

NOTICED, BY_CLAIM = 0.95, 0.80
"""The shares of mutants that claim and tests together, and the claim alone, should notice."""


@app.command(rich_help_panel=AUTHORS)
def attack(
    what: What = None,
    mutants: Annotated[int, typer.Option("--mutants", help="how many wrong versions to try")] = 20,
    tests: Annotated[Path, typer.Option(help="unit tests for what a claim does not notice", **PATH)] = Path("tests"),
    seed: Seed = 0,
    jobs: Jobs = JOBS,
    json: Json = False,
) -> None:
    """Wrong versions of the mathematics that nothing notices."""
    from deeptheory.cli.display import progress
    from deeptheory.lab.attack import attacked, equivalents
    from deeptheory.lab.checking import workers

    within("--mutants", mutants, 1, 100_000)
    within("--jobs", jobs, 1, 256)
    if not what:
        raise Refused("name what to attack: a claim, an item, a book or a subject; `all` is every claim")
    if tests.is_file():
        raise Refused(f"--tests takes a folder of unit tests, and {tests} is a file")
    chosen = [entry.name for entry in entries(what)]
    known = equivalents(tests / "equivalents.json")
    done = []
    with workers(jobs) as pool, progress(mutants, "attacking") as tell:
        folder = tests.resolve() if tests.is_dir() else None
        for each in attacked(chosen, pool, count=mutants, seed=seed, tests=folder, known=known):
            done.append(each)
            tell(f"{each.mutant.module}.{each.mutant.function}: {each.noticed or 'survives'}")
    counted = [each for each in done if each.noticed != "equivalent"]
    by_claim = sum(each.noticed == "claim" for each in counted)
    noticed = sum(not each.survives for each in counted)
    if json:
        emit({"mutants": len(counted), "claim": by_claim, "noticed": noticed, "all": [e.record() for e in done]})
    else:
        for each in counted:
            if each.survives:
                print(f"{each.claim}: {each.how}\n  {each.mutant}")
        still = sum(each.unmoved for each in counted)
        by_tests = f"{noticed - by_claim} by unit tests" if tests.is_dir() else f"there are no unit tests in {tests}"
        print(
            f"{len(counted)} wrong versions: {by_claim} noticed by the claim, {by_tests}, "
            f"{len(counted) - noticed} by nothing; {len(done) - len(counted)} are not wrong\n"
            f"{still} do not reach the claim's evidence; of the rest it notices {by_claim} of {len(counted) - still}"
        )
    enough = noticed >= NOTICED * len(counted) and by_claim >= BY_CLAIM * len(counted)
    raise typer.Exit(0 if enough else 1)
