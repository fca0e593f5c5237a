PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: tour test quick soak lint types record lock bench clean

tour: $(READY)  ## the flagship claims, three minutes, a page to look at
	$(BIN)/deeptheory tour

test: $(READY) lint  ## everything: lint, contracts, types, unit and property tests, claims, command line, browser
	$(BIN)/pytest -n 2 --dist worksteal

quick: $(READY)  ## the inner loop: what the change at hand can reach, without the slow tests
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/pytest -n 2 --dist worksteal --changed -m "not slow and not browser"

soak: $(READY)  ## random networks, all nonsense, twenty seeds, full size, wrong versions of the mathematics
	DEEPTHEORY_SOAK=200 $(BIN)/pytest tests/kernels/test_random_networks.py tests/kernels/test_every_layer.py
	DEEPTHEORY_HOSTILE=1 $(BIN)/pytest tests/test_hostile_values.py
	$(BIN)/deeptheory calibrate all --seeds 20
	$(BIN)/deeptheory check all --full
	$(BIN)/deeptheory attack all --mutants 1000

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/lint-imports

types: $(READY)  ## also among the tests, beside the others
	$(BIN)/pyright

record: $(READY)  ## write the ledger anew: every claim, and the items that unit tests compare with an oracle
	$(BIN)/deeptheory check all --record
	$(BIN)/pytest -n 2 --record-items -m item

bench: $(READY)
	$(BIN)/python -m benchmarks

lock:  ## renew the lock file
	$(BIN)/pip-compile --quiet --extra oracles --extra test --extra dev --generate-hashes --allow-unsafe \
		--no-emit-index-url --no-emit-find-links --strip-extras \
		--output-file requirements.lock pyproject.toml

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

clean:
	rm -rf .venv .pytest_cache .ruff_cache
