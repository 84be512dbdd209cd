# Two commands matter: `make run` and `make test`. Everything else is a part of them.

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS = -s -w -X writ/internal/cli.Version=$(VERSION)

# Every Go file of ours, in every module; not those of installed web packages.
GOFILES = $(shell find . -name '*.go' -not -path '*/node_modules/*' -not -path '*/testdata/*' -not -path './.*')

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: web ## Build bin/writd (the server), bin/writ and bin/writ-client (the client), bin/writ-plan (for coding agents), static
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/writd ./cmd/writd
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/writ ./cmd/writ
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/writ-client ./cmd/writ-client
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/writ-plan ./cmd/writ-plan

# Only if its sources changed; without Node the server builds all the same.
.PHONY: web
web:
	@scripts/web

.PHONY: clients
clients: ## Build the clients for TypeScript and Python into bin/clients, and install them beside the examples
	@scripts/clients

.PHONY: run
run: build ## Build and start the server; settings come from the environment
	@exec bin/writd serve

.PHONY: test
test: ## Check, test on SQLite and PostgreSQL, with the race detector where goroutines share state, fuzz briefly
	@scripts/test

EVASIONS = 1000000

.PHONY: evasions
evasions: ## Run a million commands that try to leave a sandbox; takes hours
	EVASION_SEED=$${EVASION_SEED:-$$(date +%s)} EVASIONS=$(EVASIONS) EVASIONS_JUDGED=$(EVASIONS)0 EVASIONS_CONFINED=$(EVASIONS) EVASION_TRACES=5000 \
		go test -v -count 1 -timeout 0 ./internal/policy/shell/evasion

.PHONY: kills
kills: ## Kill an agent 50 times while 32 callers ask for it, on PostgreSQL and SQLite, and print how long that takes
	KILLS=50 scripts/with-postgres go test -v -count 1 -parallel 1 -timeout 0 -run TestNoAllowBehindAKillOfProcesses ./internal/cli

.PHONY: soak-proxy
soak-proxy: ## Make 10,000 calls over 100 sessions through the proxy while MCP servers die, on both databases
	SOAK_CALLS=10000 SOAK_SESSIONS=100 scripts/with-postgres go test -v -count 1 -timeout 0 -run '^TestSoak$$' ./internal/api/proxy

.PHONY: loaded
loaded: ## Run every test twice beside a load that keeps every core busy
	@scripts/test-loaded

# Two runs on a commit give the same bytes; PLATFORMS=linux/amd64 builds for one platform.
.PHONY: release
release: web ## Build what people install into dist: archives, packages, an image, clients, an SBOM, licences, checksums
	rm -rf dist
	scripts/clients pack
	cd release && go run . -version $(VERSION) $(if $(PLATFORMS),-platforms $(PLATFORMS))

.PHONY: screenshots
screenshots: build ## Make the pictures of the README with a real browser
	@cd web && node e2e/screenshots.mjs

.PHONY: check
check: format vet staticcheck layout scripts-syntax ## Format, vet, staticcheck, layout, script syntax; no database needed

.PHONY: format
format:
	@unformatted=$$(gofmt -l $(GOFILES)) && test -z "$$unformatted" || \
		{ echo "not gofmt-ed (make fmt does it):"; echo "$$unformatted"; exit 1; }

.PHONY: vet
vet:
	go vet ./...
	GOARCH=arm64 go vet ./internal/confine/... ./cmd/... ./internal/cli/writ
	GOOS=darwin go vet ./internal/confine/... ./cmd/... ./internal/cli/writ
	GOOS=windows go build -o /dev/null ./cmd/writ ./cmd/writ-client ./cmd/writ-plan
	GOOS=windows go build ./internal/app
	cd bench && go vet ./... && go test ./...
	cd release && go vet ./...

.PHONY: staticcheck
staticcheck:
	go tool staticcheck ./...

# Not from the cache: a package that was added is no change that the cache sees.
.PHONY: layout
layout:
	go test -count=1 . ./internal/layout

.PHONY: scripts-syntax
scripts-syntax:
	@for script in scripts/* .ci/run; do bash -n "$$script" || exit 1; done

.PHONY: bench-efficacy
bench-efficacy: build ## Replay recorded runs over HTTP: make bench-efficacy DATA=FOLDER
	@cd bench/efficacy && exec go run . -data $(DATA) -writd ../../bin/writd -causes

.PHONY: bench
bench: build ## Measure the server and the client that were just built
	@cd bench && exec go run . -writd ../bin/writd -writ ../bin/writ

.PHONY: measure
measure: ## Measure the code: lines, files, functions, imports
	@go run ./internal/layout/measure

.PHONY: fmt
fmt: ## Format the Go code
	@gofmt -l -w $(GOFILES)

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist web/node_modules
	find web/dist -mindepth 1 ! -name README.md -delete
