"""What `make quick` runs: the tests that a change can reach, and no more."""

import pytest

from reached import ALWAYS, reached_by


@pytest.mark.parametrize(
    ("file", "found", "not_found"),
    [
        ("src/deeptheory/spectra/marchenko_pastur.py", "tests/spectra/test_marchenko_pastur.py", "tests/language"),
        ("src/deeptheory/spectra/spiked.py", "tests/spectra/test_laws.py", "tests/kernels"),
        ("src/deeptheory/network_bounds.py", "tests/test_network_bounds.py", "tests/spectra"),
        ("src/deeptheory/foundations/hermite.py", "tests/dynamics/test_sphere.py", "tests/graphs"),
        ("src/deeptheory/books/arora.json", "tests/books/test_library.py", "tests/spectra"),
        ("src/deeptheory/report/page.js", "tests/report/test_packing.py", "tests/spectra"),
        ("tests/hostile_examples/graphs.py", "tests/test_hostile_values.py", "tests/graphs"),
        ("tests/lab/example.py", "tests/lab/test_falsify.py", "tests/graphs"),
        ("tests/spectra/test_laws.py", "tests/test_claims.py", "tests/graphs"),
    ],
)
def test_a_change_reaches_those_who_read_it(file, found, not_found):
    reached = reached_by({file})
    assert found in reached and reached >= ALWAYS
    assert not [path for path in reached if path.startswith(not_found)]


def test_what_all_stand_on_reaches_all():
    assert len(reached_by({"tests/conftest.py"})) > len(reached_by({"src/deeptheory/spectra/spiked.py"})) + 100
