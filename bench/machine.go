package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime"
)

// describeMachine says what the results depend on. The Go version is the one
// writd was built with.
func describeMachine(writd string) (string, error) {
	build, err := buildinfo.ReadFile(writd)
	if err != nil {
		return "", fmt.Errorf("read how %s was built (make build makes it): %w", writd, err)
	}
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "", fmt.Errorf("read the size of the memory: %w", err)
	}
	memory, err := kilobytes(string(content), "MemTotal")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d cores, %.0f GB of memory, %s/%s, writd built with %s, floor with %s",
		runtime.NumCPU(), float64(memory)/1e9, runtime.GOOS, runtime.GOARCH, build.GoVersion, runtime.Version()), nil
}
