package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// evidence measures the log without the server: an append that waits for its
// commit and takes its receipt, and the check of a proof, which clients do. They are
// benchmarks of the packages themselves.
func (b *bench) evidence(ctx context.Context) error {
	sizes := "^(1000|100000)$"
	if b.large {
		sizes = "."
	}
	table := newTable(os.Stdout, "the log alone (SQLite)", "ns", "a second", "target")
	for _, m := range []struct{ name, target string }{
		{"BenchmarkAppend/" + sizes, "5,000 a second"},
		{"BenchmarkCheckProof", "50 us"},
	} {
		text, err := output(ctx, "go", "test", "-C", "..", "-run", "^$", "-bench", m.name, "-benchtime", "2s",
			"./internal/audit")
		if err != nil {
			return err
		}
		for _, result := range benchmarkResults(text) {
			table.row(result.name, fmt.Sprintf("%.0f", result.ns), fmt.Sprintf("%.0f", 1e9/result.ns), m.target)
		}
	}
	return table.Flush()
}

// benchmarkResult is one line that go test prints.
type benchmarkResult struct {
	name string
	ns   float64
}

func benchmarkResults(text []byte) []benchmarkResult {
	var all []benchmarkResult
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") || words[3] != "ns/op" {
			continue
		}
		if ns, err := strconv.ParseFloat(words[2], 64); err == nil {
			all = append(all, benchmarkResult{strings.TrimPrefix(words[0], "Benchmark"), ns})
		}
	}
	return all
}
