package sandbox

import (
	"fmt"
	"strconv"
	"strings"
)

// Quotas bound what a command uses. Memory and File are in bytes and for each process;
// Processes counts threads too.
type Quotas struct {
	Processes uint64 `json:"processes"`
	Memory    uint64 `json:"memory"`
	File      uint64 `json:"file"`
	Files     uint64 `json:"files"` // open descriptors
}

// minProcesses is the least that the kernel lets a pid namespace have.
const minProcesses = 301

// DefaultQuotas bound what runs away, and are generous to builds.
func DefaultQuotas() Quotas {
	return Quotas{Processes: 4096, Memory: 16 << 30, File: 16 << 30, Files: 8192}
}

// Set changes one quota: "memory=2G".
func (q *Quotas) Set(text string) error {
	name, value, _ := strings.Cut(text, "=")
	quota, ok := map[string]*uint64{
		"processes": &q.Processes,
		"memory":    &q.Memory,
		"file":      &q.File,
		"files":     &q.Files,
	}[name]
	if !ok {
		return fmt.Errorf("must be NAME=NUMBER with processes, memory, file or files as the name")
	}
	n, err := parseSize(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if quota == &q.Processes && n < minProcesses {
		return fmt.Errorf("processes: must be at least %d", minProcesses)
	}
	if quota == &q.Files && n < 16 {
		return fmt.Errorf("files: must be at least 16")
	}
	*quota = n
	return nil
}

// parseSize reads a number with an optional K, M or G.
func parseSize(text string) (uint64, error) {
	number, shift := text, 0
	for i, unit := range []string{"K", "M", "G"} {
		if before, ok := strings.CutSuffix(text, unit); ok {
			number, shift = before, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("must be a number from 1, optionally with K, M or G after it")
	}
	return n << shift, nil
}
