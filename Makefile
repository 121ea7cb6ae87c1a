# Sluice. `make help` lists the targets; demo and test need Go alone.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

GO        ?= go
# FUZZTIME is how long each fuzz target runs; BENCHTIME how long each benchmark.
FUZZTIME  ?= 10s
BENCHTIME ?= 1s
# PATIENCE is how long the tests of one package may take: on a busy machine more than the 10 minutes of go test.
PATIENCE  ?= 20m
# PARALLEL is how many tests of one package run beside each other: most of them wait more than they work.
PARALLEL  ?= 8
# SEEDS is how often window-wild plays each case, KIND the one kind that it plays (all).
SEEDS     ?= 5
KIND      ?=
# SEED begins the random choices of chaos.
SEED      ?= 1
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT    ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)
PEER      := gateway/interop/testdata/smsc

.PHONY: examples worlds chaos chaos-short help demo build test test-long race fuzz bench bench-codec bench-session window-grid window-grid-smoke window-wild compare compare-short lint check interop cover schema peers clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Show a naive sender and Sluice against an SMSC whose ceiling moves (under 3 minutes).
	$(GO) run ./cmd/sluice demo

build: ## Build bin/sluice and bin/fakesmsc.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o bin/ ./cmd/sluice ./cmd/fakesmsc

test: ## Run the tests, the long ones cut short or left out.
	$(GO) test -short -shuffle=on -parallel $(PARALLEL) -timeout $(PATIENCE) ./...
	@echo 'make test-long runs these whole:' && .ci/test-long --list

test-long: ## Run the tests that test cuts short or leaves out, whole.
	GO='$(GO)' .ci/test-long -shuffle=on -parallel $(PARALLEL) -timeout $(PATIENCE)

race: ## Run what test runs under the race detector; needs a C compiler.
	@echo 'without sluice/cmd/sluice: its tests run the binary, which is built without the detector'
	CGO_ENABLED=1 $(GO) test -race -short -shuffle=on -parallel 4 -timeout $(PATIENCE) $$($(GO) list ./... | grep -v '^sluice/cmd/sluice$$')

examples: ## Run the tests of examples/, which are modules of their own.
	for d in examples/*/; do (cd "$$d" && $(GO) vet ./... && $(GO) test ./...); done

fuzz: ## Run every fuzz target for FUZZTIME (10s).
	GO='$(GO)' .ci/fuzz $(FUZZTIME)

bench: ## Run all benchmarks for BENCHTIME (1s).
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

bench-codec: ## Run the benchmarks of the codec, go-smpp's beside ours.
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./smpp/pdu

bench-session: ## Run the benchmarks of the session over loopback TCP, go-smpp's beside ours.
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./smpp

window-grid: ## Score the window on the whole grid of SMSCs (4 minutes at most); the last line is the score.
	$(GO) test -tags grid -c -o bin/window-grid ./window/grid
	bin/window-grid -test.run '^TestGrid$$'

window-grid-smoke: ## Score the window on the whole grid with one seed (half a minute).
	$(GO) test -tags grid -count=1 -run '^TestGridSmoke$$' ./window/grid

window-wild: ## Score the window on SMSCs that it was not made for (2 to 6 minutes); SEEDS=5, KIND=5.
	$(GO) test -tags grid -c -o bin/window-grid ./window/grid
	SLUICE_SEEDS=$(SEEDS) SLUICE_KIND=$(KIND) bin/window-grid -test.run '^TestWild$$'

compare: ## Compare the gateway with simple senders over TCP (50 minutes), as Markdown.
	$(GO) run ./cmd/sluice compare --output markdown \
		--scenario bucket-10 --scenario bucket-100 --scenario queue-20 --scenario outstanding-5

compare-short: ## The same with one SMSC for 30 s each (2 minutes); checks what is lost and the order of the senders.
	SLUICE_COMPARE=30s $(GO) test -count=1 -v -run '^TestCompare$$' ./cmd/sluice/compare

chaos: build bin/chaos ## Break everything at random for 30 minutes while 100,000 messages flow; SEED=1.
	bin/chaos --bin bin --seed $(SEED)

chaos-short: build bin/chaos ## The same in 3 minutes with 5,000 messages; SEED=1.
	bin/chaos --bin bin --seed $(SEED) --short --messages 5000 --length 2m --patience 3m

# SEEDS worlds from FROM on (100; with sabotages 300), or the one of SEED alone. Each has a process of its own, one a core.
FROM  ?= 1
seeds = $(if $(filter command line environment,$(origin SEEDS)),$(SEEDS),$(1))
# world-again plays one world up to three times, or makes it smaller when it fails.
world-again = $(if $(SHRINK),SEED=$(SEED) SHRINK=1 GOMAXPROCS=1 WORLDS_DIR=$(CURDIR)/bin/worlds bin/worlds.test -test.run '^TestWorlds$$' -test.v -test.timeout 30m,PLAYS=3 .ci/worlds bin/worlds.test $(SEED) 1)
SHRINK ?=
# ONLY names the sabotages to try, as a regular expression; empty: all.
ONLY  ?=

worlds: ## Run whole gateways in simulated time with every fault: SEEDS=100 FROM=1, one again: SEED=7, made smaller: SHRINK=1.
	$(GO) test -c -o bin/worlds.test ./gateway/worlds
	$(if $(filter command line environment,$(origin SEED)),$(world-again),.ci/worlds bin/worlds.test $(FROM) $(call seeds,100))

worlds-sabotage: ## Break the delivery line by line; worlds must find each (hours): SEEDS=300 FROM=1 ONLY=record.
	nice -n 19 $(GO) run ./gateway/worlds/sabotage --from $(FROM) --seeds $(call seeds,300) --only '$(ONLY)'

.PHONY: bin/chaos
bin/chaos:
	CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./cmd/chaos

lint: bin/golangci-lint ## Check formatting, import rules and the rest of .golangci.yml.
	bin/golangci-lint run ./...

check: lint test ## All that a change must pass before it is committed.
	$(GO) vet ./...
	$(GO) mod tidy -diff
	$(GO) fix -diff ./...

interop: peers bin/nats ## Run Sluice and its SMPP against foreign peers.
	$(GO) test -tags interop -count=1 -v -timeout 10m -p 1 ./smpp/interop ./gateway/interop

cover: ## Write cover.out and print the coverage of each package.
	$(GO) test -coverprofile=cover.out ./...

schema: ## Write configs/sluice.schema.json anew from the types.
	SLUICE_WRITE_SCHEMA=1 $(GO) test -count=1 -run TestSchemaIsCurrent ./gateway/config

peers: ## Install the foreign peers with apt-get and npm.
	.ci/peers
	$(MAKE) -s $(PEER)/node_modules/.package-lock.json

$(PEER)/node_modules/.package-lock.json: $(PEER)/package.json $(PEER)/package-lock.json
	cd $(PEER) && npm ci --no-audit --no-fund
	@touch $@

# Each tool has a module of its own, so that go.mod stays the gateway's.
bin/golangci-lint: configs/tools/lint/go.mod
	cd configs/tools/lint && $(GO) build -o ../../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

bin/nats: configs/tools/nats/go.mod ## Build the nats command, a foreign client of the queue.
	cd configs/tools/nats && $(GO) build -o ../../../$@ github.com/nats-io/natscli/nats
	@touch $@

clean: ## Remove what the targets built.
	rm -rf bin cover.out $(PEER)/node_modules
