package run

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	var f Flags
	err := f.parse([]string{
		"--write", "a", "--write=b=c", "--read=", "--timeout", "90s", "--net", "none", "--net=one.test:443",
		"--report=-",
		"make", "--write", "x",
	})
	if err != nil || f.Timeout != 90*time.Second || f.report != "-" {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, list := range [][2][]string{
		{f.Limits.Write, {"a", "b=c"}}, {f.Limits.Read, {""}}, {f.hosts(), {"one.test:443"}},
		{f.Command, {"make", "--write", "x"}},
	} {
		if !slices.Equal(list[0], list[1]) {
			t.Errorf("%q, want %q", list[0], list[1])
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--nonsense -- true":   "unknown flag: --nonsense",
		"-write a -- true":     "unknown flag: -write",
		"--write":              "flag needs an argument: --write",
		"--timeout soon true":  `invalid argument "soon" for --timeout`,
		"--write a --help x":   errHelp.Error(),
		"-h":                   errHelp.Error(),
		"-- --nonsense":        "",
		"- --nonsense":         "",
		"true --nonsense --":   "",
		"--write -- -- --help": "",
		"--decision=1 -- true": "",
	} {
		var f Flags
		err := f.parse(strings.Fields(args))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
		if errors.Is(err, errHelp) && len(f.Command) > 0 {
			t.Errorf("%s: has a command and wants help", args)
		}
	}
}
