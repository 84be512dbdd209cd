//go:build !darwin && !(linux && (amd64 || arm64))

package sandbox

import (
	"errors"
	"io/fs"
	"runtime"
)

// Enter does nothing here.
func Enter() {}

// Begin does nothing here.
func (o *Options) Begin() {}

// End does nothing here.
func (o *Options) End() {}

type flat struct{}

// Run refuses: this system has nothing that would hold the limits.
func Run(*Options) (*Report, error) {
	return nil, &NotHeldError{Cause: errors.New("writ run works on Linux (amd64, arm64) and macOS, not on " +
		runtime.GOOS + " " + runtime.GOARCH)}
}

func identity(info fs.FileInfo) string { return info.ModTime().String() }
