// Package cli is what the two command lines share: their version, their streams,
// their exit codes and their voice.
//
// Only machine output goes to stdout. Words for a person go to stderr: in lower
// case, after the program's name, without a full stop, with a hint where we know the
// fix. Text from elsewhere is shown without control characters, so that nobody's data
// moves the reader's cursor.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"writ/internal/cli/printable"
	"writ/internal/fault"
)

// Version is set when the programs are built.
var Version = "dev"

// Exit codes of both programs.
const (
	ExitOK        = 0
	ExitFailure   = 1 // it did not work
	ExitUsage     = 2 // the command line is wrong
	ExitSignedOut = 3 // there are no credentials, or the server does not accept them
)

// ErrSignedOut marks an error that signing in again fixes.
var ErrSignedOut = errors.New("signed out")

// SignedOut marks an error with ErrSignedOut.
func SignedOut(err error) error { return signedOutError{err} }

type signedOutError struct{ error }

func (e signedOutError) Unwrap() []error { return []error{e.error, ErrSignedOut} }

// Ended is the error of a command that has said why, and ends with this exit code.
type Ended int

func (e Ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Streams are where a command reads and writes.
type Streams struct {
	In  io.Reader
	Out io.Writer // machine output
	Err io.Writer // words for a person
}

// Main runs a program until it ends or is interrupted, and returns its exit code.
func Main(program string, run func(ctx context.Context, args []string, s Streams) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	err := run(ctx, os.Args[1:], streams)
	if err == nil {
		return ExitOK
	}
	if ended, ok := errors.AsType[Ended](err); ok {
		return int(ended)
	}
	fmt.Fprintf(streams.Err, "%s: %s\n", program, Shown(err))
	return exitCode(err)
}

// Shown is an error as a program writes it.
func Shown(err error) string {
	return Printable(strings.ReplaceAll(Message(err), "\t", "  ")) // as drivers of databases indent what they tried
}

func exitCode(err error) int {
	switch {
	case errors.Is(err, ErrUsage):
		return ExitUsage
	case errors.Is(err, ErrSignedOut):
		return ExitSignedOut
	}
	return ExitFailure
}

// Message is an error in words for a person: the message of a fault with its fields,
// or the whole chain for the operator of this machine.
func Message(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind == fault.Internal || f.Kind == fault.Unavailable {
		return err.Error()
	}
	if len(f.Details) < 2 {
		return f.Message
	}
	lines := make([]string, len(f.Details))
	for i, d := range f.Details {
		lines[i] = d.Field + ": " + d.Message
	}
	return strings.Join(lines, "\n")
}

// Printable replaces the characters of a text that could steer a terminal. Line breaks
// stay.
func Printable(text string) string { return printable.Text(text) }

// Line is Printable for text from elsewhere that must stay one line.
func Line(text string) string { return printable.Line(text) }
