package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// policy runs the benchmark of the policy engine, which is a module of its own:
// what it compares with takes minutes to compile, and should not do so whenever
// this one is checked.
func (b *bench) policy(ctx context.Context) error {
	fmt.Println()
	command := exec.CommandContext(ctx, "go", "run", "-C", "policy", ".")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("run the benchmark of decisions: %w", err)
	}
	return nil
}
