package cli_test

import (
	"errors"
	"fmt"
	"testing"

	"writ/internal/cli"
	"writ/internal/fault"
)

func TestMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"plain", errors.New("listen: in use"), "listen: in use"},
		{"fault", fmt.Errorf("create: %w", fault.New(fault.Conflict, "it exists")), "it exists"},
		{"one field", fault.Field("email", "is wrong"), "email: is wrong"},
		{
			"two fields", fault.Fields(fault.Detail{Field: "a", Message: "x"}, fault.Detail{Field: "b", Message: "y"}),
			"a: x\nb: y",
		},
		{
			"the operator sees why",
			fault.Wrap(errors.New("connection refused"), fault.Unavailable, "the database is away"),
			"the database is away: connection refused",
		},
	} {
		if got := cli.Message(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	if got, want := cli.Printable("a\x1b[2Jb\rc\nd\u009b\u202e"), "a\uFFFD[2Jb\uFFFDc\nd\uFFFD\uFFFD"; got != want {
		t.Errorf("Printable = %q, want %q", got, want)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	if got, want := cli.Line("a\nstate    ready\x1b[2J"), "a\uFFFDstate    ready\uFFFD[2J"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}
