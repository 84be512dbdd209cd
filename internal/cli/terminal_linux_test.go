package cli_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"writ/internal/cli"
)

// terminal opens a pseudo-terminal: what is written to the one file is shown by the other.
func terminal(t *testing.T) (written, shown *os.File) {
	t.Helper()
	shown, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	t.Cleanup(func() { shown.Close() })
	if err := unix.IoctlSetPointerInt(int(shown.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatalf("unlock a terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(int(shown.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatalf("find a terminal: %v", err)
	}
	written, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	t.Cleanup(func() { written.Close() })
	return written, shown
}

// read is what a terminal shows until it shows the text end.
func read(t *testing.T, shown *os.File, end string) string {
	t.Helper()
	var all strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(all.String(), end) {
		n, err := shown.Read(buffer)
		if err != nil {
			t.Fatalf("read the terminal after %q: %v", all.String(), err)
		}
		all.Write(buffer[:n])
	}
	return all.String()
}

// Colours are for terminals whose owner wants them, and never come from the data.
func TestColours(t *testing.T) {
	for name, c := range map[string]struct {
		noColour, term string
		want           string
	}{
		"a terminal": {"", "xterm", "\x1b[1mSTATUS  NAME\x1b[0m\r\n\x1b[32mallow\x1b[0m   \uFFFD[31mred\r\nend     -\r\n"},
		"NO_COLOR":   {"1", "xterm", "STATUS  NAME\r\nallow   \uFFFD[31mred\r\nend     -\r\n"},
		"a dumb one": {"", "dumb", "STATUS  NAME\r\nallow   \uFFFD[31mred\r\nend     -\r\n"},
	} {
		t.Setenv("NO_COLOR", c.noColour)
		t.Setenv("TERM", c.term)
		written, shown := terminal(t)
		rows := [][]any{{"allow", "\x1b[31mred"}, {"end", "-"}}
		if err := cli.WriteTable(written, "STATUS\tNAME", rows); err != nil {
			t.Fatal(err)
		}
		if got := read(t, shown, "end     -\r\n"); got != c.want {
			t.Errorf("%s shows %q, want %q", name, got, c.want)
		}
	}
	var plain strings.Builder
	if err := cli.WriteTable(&plain, "STATUS\tNAME", [][]any{{"allow", "x"}}); err != nil ||
		plain.String() != "STATUS  NAME\nallow   x\n" {
		t.Errorf("what is no terminal gets %q, %v", plain.String(), err)
	}
}

// A document goes to a file as it is, and to a terminal without what could steer it.
func TestTextOfOthers(t *testing.T) {
	t.Parallel()
	const text = "a:\t\x1b[2J\nend"
	written, shown := terminal(t)
	if err := cli.WriteText(written, text); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, shown, "end"), "a:\uFFFD\uFFFD[2J\r\nend"; got != want {
		t.Errorf("a terminal shows %q, want %q", got, want)
	}
	var file strings.Builder
	if err := cli.WriteText(&file, text); err != nil || file.String() != text {
		t.Errorf("a file gets %q, %v", file.String(), err)
	}
}

// Progress is shown to people, and taken away; a file gets none.
func TestProgress(t *testing.T) {
	t.Parallel()
	written, shown := terminal(t)
	progress := cli.NewProgress(cli.Streams{Err: written})
	progress.Say("%d of %d \x1b", 1, 9)
	progress.Say("not so soon")
	progress.End()
	fmt.Fprint(written, "end")
	if got, want := read(t, shown, "end"), "\r1 of 9 \uFFFD\r        \rend"; got != want {
		t.Errorf("shown is %q, want %q", got, want)
	}
	var file strings.Builder
	progress = cli.NewProgress(cli.Streams{Err: &file})
	progress.Say("1 of 9")
	progress.End()
	if file.Len() != 0 {
		t.Errorf("a file gets %q", file.String())
	}
}
