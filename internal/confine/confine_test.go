package confine_test

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/confine"
)

func TestLimitsCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		limits confine.Limits
		want   string
	}{
		{"nothing", confine.Limits{}, ""},
		{"all forms", confine.Limits{
			Write: []string{"workspace", "workspace/out", "/srv/data"},
			Read:  []string{"~", "~/go"},
			Net:   []string{"proxy.golang.org:443", "127.0.0.1:5432", "[::1]:80", "db_1.local:1"},
		}, ""},
		{"relative", confine.Limits{Write: []string{"src"}}, "write[0]: must be an absolute path"},
		{"empty", confine.Limits{Read: []string{"/usr", ""}}, "read[1]: must be an absolute path"},
		{"dots", confine.Limits{Write: []string{"workspace/../x"}}, "without .., . or double slashes, as x"},
		{"another word", confine.Limits{Write: []string{"workspaces/x"}}, "write[0]: must be an absolute path"},
		{"another home", confine.Limits{Read: []string{"~root/x"}}, "read[0]: must be an absolute path"},
		{"line break", confine.Limits{Read: []string{"/a\nb"}}, "line break"},
		{"no port", confine.Limits{Net: []string{"example.com"}}, "net[0]: must be HOST:PORT"},
		{"port zero", confine.Limits{Net: []string{"example.com:0"}}, "net[0]: must be HOST:PORT"},
		{"pattern", confine.Limits{Net: []string{"*.example.com:443"}}, "patterns are not supported"},
		{"no host", confine.Limits{Net: []string{":443"}}, "net[0]: must name one host"},
		{"too many", confine.Limits{Read: make([]string, confine.MaxEntries+1)}, "at most 64"},
		{"too long", confine.Limits{Read: []string{"/" + strings.Repeat("a", confine.MaxLength)}}, "at most 1024"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.limits.Check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Check() = %v, want %q", err, c.want)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	limits := confine.Limits{
		Write: []string{"workspace", "workspace/out"}, Read: []string{"~/go", "/data"},
		Net: []string{"example.com:443"},
	}
	got := limits.In("/w", "/home/a").Arguments("d1", []string{"bash", "-c", "echo --write=/"})
	want := []string{
		"run", "--write=/w", "--write=/w/out", "--read=/home/a/go", "--read=/data", "--net=example.com:443",
		"--decision=d1", "--", "bash", "-c", "echo --write=/",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestHostsAreThoseOfTheLibrary: what is a host, and what a port, is what the standard library says.
func TestHostsAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	valid := func(entry string) bool {
		host, port, err := net.SplitHostPort(entry)
		number, portErr := strconv.ParseUint(port, 10, 16)
		_, addressErr := netip.ParseAddr(host)
		name := host != "" && strings.Trim(host, "0123456789abcdef.") == "" && !strings.HasPrefix(host, ".") &&
			!strings.Contains(host, "..") && host != "."
		return err == nil && portErr == nil && number > 0 && (addressErr == nil || name)
	}
	part := rapid.SampledFrom([]string{
		":", "::", ".", "[", "]", "%", "0", "1", "01", "255", "256", "ffff", "fffff", "1.2.3.4", "::1", "1:2:3:4:5:6:",
		"7:8", "+1", "]:443", ":443", "]:0",
	})
	rapid.Check(t, func(rt *rapid.T) {
		entry := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(rt, "parts"), "")
		if rapid.Bool().Draw(rt, "bracketed") {
			entry = "[" + entry + "]:443"
		}
		if err := confine.CheckHost(entry); (err == nil) != valid(entry) {
			rt.Fatalf("CheckHost(%q) = %v, want valid %v", entry, err, valid(entry))
		}
	})
}
