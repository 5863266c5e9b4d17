# Thin aliases over npm and scripts/. A bare `make` prints this list. The Node that runs is the one of the lock file, whatever `node` the shell has.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

INSTALLED := node_modules/.package-lock.json

.PHONY: help
help: ## Print this list
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

$(INSTALLED): package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# ---- Set-up
.PHONY: setup docker gvisor base images
setup: $(INSTALLED) ## Install the npm packages of the lock file where they are missing or outdated

docker: ## Make sure a Docker daemon answers (installs one as root on Debian; DROVER_NO_INSTALL=1 forbids that)
	@scripts/docker.sh

gvisor: docker ## Make sure Docker knows the runtime runsc (installs and registers it as root on Debian)
	@scripts/gvisor.sh

base: docker ## Make the base image: pulled where a registry answers, bootstrapped elsewhere
	@scripts/base-image.sh

images: ## Build the local images whose inputs changed (NAME="postgres nats" for some)
	@scripts/images.sh $(NAME)

# ---- Code
.PHONY: gen fmt lint check
gen: setup ## Generate the TypeScript of proto/
	@npm run -s gen

fmt: setup ## Format everything
	@npm run -s fmt

lint: setup ## Check format, lint rules and protos
	@npm run -s lint

check: setup ## Format, lint, types, protos, generated code, unused code and unit tests; no Docker, under a minute
	npm run -s lint
	npm run -s types
	npm run -s gen:check
	npm run -s unused
	npm run -s test:unit

# ---- Run
.PHONY: demo up down viewer
# The demo runs without a Docker daemon too (executions are then unavailable, and it says so).
demo: setup viewer ## The main job on the embedded profile (PROFILE=distributed for the other one)
	@if scripts/docker.sh; then scripts/images.sh sandbox-python sandbox-javascript sandbox-bash $(if $(filter distributed,$(PROFILE)),postgres nats); \
	elif [ $$? != 3 ]; then exit 1; fi
	@npm run -s demo -- $(PROFILE)

up: setup viewer images ## Start the distributed profile: Postgres and NATS in containers, six service processes
	@npm run -s up

down: setup ## End what `make up` started, its data included
	@npm run -s down

VIEWER := viewer/dist/index.html
viewer: setup $(VIEWER) ## Build the trace viewer where its sources changed
$(VIEWER): $(shell find viewer proto/gen -type f -not -path '*/dist/*' -not -path '*/node_modules/*')
	@echo "viewer: building"
	@npm run -s build -w viewer

# ---- Tests
.PHONY: test test-it test-e2e chaos browser bench
test: check test-it test-e2e ## Everything, with all set-up: check, integration tests, end-to-end tests

test-it: setup images gvisor ## Integration tests against real Postgres, NATS and Docker
	npm run -s test:it

test-e2e: setup images viewer browser ## The running suite, driven from outside
	npm run -s test:e2e

chaos: setup images ## Kill, stop and cut off orchestrators under load and check their history (SEED=7 MINUTES=10)
	@CHAOS_SEED="$(SEED)" CHAOS_MINUTES="$(or $(MINUTES),10)" npx vitest run --project it services/orchestrator/test/chaos.it.test.ts

browser: ## Make sure a Chromium is there for the viewer's test (installs one as root on Debian)
	@scripts/browser.sh

PEERS := bench/peers/node_modules/.package-lock.json
# What others make, for comparison; no part of the product, so with a lock file of its own.
$(PEERS): bench/peers/package-lock.json
	@echo "bench: installing the peers of bench/peers"
	npm ci --prefix bench/peers --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@

bench: setup $(if $(filter durable-steps,$(NAME)),$(PEERS)) ## Run a benchmark (NAME=rpc-echo) and write bench/results/NAME.json
	@npx node bench/src/$(NAME).ts

.PHONY: eval
eval: setup images ## Run the evaluations of evals/ and print their table (NAME="code-repair" for some)
	@npm run -s eval -- $(NAME)

# ---- Data
.PHONY: migrate clean
migrate: setup ## Migrate a service's schema (SERVICE=memory DATABASE_URL=postgres://…)
	@npx node scripts/migrate.ts $(SERVICE)

clean: ## Remove what commands left in the tree, npm packages included; data in .drover/ stays
	rm -rf node_modules coverage dist .reports viewer/dist
