# The daily commands. `make ci` is what has to pass before a change lands.

.PHONY: test short race lint bench fuzz mnist peers scaling generate docs ci

test: ## all tests
	go test ./...

short: ## tests in a few seconds, without those that start processes
	go test -short ./...

race: ## the race detector, on everything
	go test -race -short ./...

lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l .)" || (gofmt -l . && exit 1)
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench: ## every kernel at the sizes of a real layer
	go test ./ops/cpu -run '^$$' -bench Kernels

fuzz: ## each parser and the kernels for half a minute
	go test ./checkpoint/safetensors -run '^$$' -fuzz FuzzRead -fuzztime 30s
	go test ./checkpoint -run '^$$' -fuzz FuzzReadArchive -fuzztime 30s
	go test ./datasets -run '^$$' -fuzz FuzzReadIDX -fuzztime 30s
	go test ./datasets -run '^$$' -fuzz FuzzReadCSV -fuzztime 30s
	go test ./ops/cpu -run '^$$' -fuzz FuzzKernels -fuzztime 30s

mnist: ## train on real data
	go run ./examples/mnist

peers: ## Rigel against PyTorch and others; downloads 3 GB the first time
	bash bench/peers/run.sh

scaling: ## memory and time of a step against sparsity
	go run ./bench/scaling

generate: ## rewrite the assembly from its generator
	go generate ./ops/cpu

docs: ## rewrite the tables in docs/ that come from the code
	go test ./ops/cpu -run Docs -update

ci: ## what CI runs
	bash .ci/run
