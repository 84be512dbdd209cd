package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// clientStarts is how often a program is started to learn how long that takes.
const clientStarts = 51

// clientStart is how long the client takes, which agents wait for at every call of
// a tool, beside the least that starting a program takes.
type clientStart struct {
	writ, floor []time.Duration
}

// measureClient runs `writ whoami --json`, which reads the sign-in and asks no
// server, and a program that does nothing, in turns.
func measureClient(ctx context.Context, writ, folder string) (c clientStart, err error) {
	environment, err := signedIn(folder)
	if err != nil {
		return c, err
	}
	for range clientStarts {
		if c.floor, err = timeRun(ctx, c.floor, environment, "true"); err != nil {
			return c, err
		}
		if c.writ, err = timeRun(ctx, c.writ, environment, writ, "whoami", "--json"); err != nil {
			return c, err
		}
	}
	return c, nil
}

// signedIn makes a sign-in as `writ login` keeps it, and gives the environment in
// which writ finds it.
func signedIn(folder string) ([]string, error) {
	home := filepath.Join(folder, "home")
	if err := os.MkdirAll(filepath.Join(home, "writ"), 0o700); err != nil {
		return nil, fmt.Errorf("make a sign-in: %w", err)
	}
	const saved = `{"url":"https://writ.example","apiKey":"ak_test_0000000000000000000000000000000000000000000000000000000000000000","email":"ada@example.org"}`
	if err := os.WriteFile(filepath.Join(home, "writ", "credentials.json"), []byte(saved), 0o600); err != nil {
		return nil, fmt.Errorf("make a sign-in: %w", err)
	}
	return append(cleanEnvironment(), "HOME="+home, "XDG_CONFIG_HOME="+home), nil
}

func timeRun(
	ctx context.Context, times []time.Duration, environment []string, program string, arguments ...string,
) ([]time.Duration, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env = environment
	begin := time.Now()
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("run %s: %w", program, err)
	}
	return append(times, time.Since(begin)), nil
}
