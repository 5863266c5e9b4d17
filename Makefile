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
.PHONY: setup docker base images
setup: $(INSTALLED) ## Install the npm packages of the lock file where they are missing or outdated

docker: ## Make sure a Docker daemon answers (installs one as root on Debian; DROVER_NO_INSTALL=1 forbids that)
	@scripts/docker.sh

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

# ---- Tests
.PHONY: test-it test-e2e
test-it: setup images ## Integration tests against real Postgres, NATS and Docker
	npm run -s test:it

test-e2e: setup images ## The running suite, driven from outside
	npm run -s test:e2e

# ---- Data
.PHONY: migrate clean
migrate: setup ## Migrate a service's schema (SERVICE=memory DATABASE_URL=postgres://…)
	@npx node scripts/migrate.ts $(SERVICE)

clean: ## Remove what commands left in the tree, npm packages included; data in .drover/ stays
	rm -rf node_modules coverage dist .reports viewer/dist
