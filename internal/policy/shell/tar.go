package shell

import "strings"

// tar reads where an archive is written or extracted, and the programs that tar starts.
func tar(s *scan, args []arg) {
	for _, option := range []string{
		"--to-command", "--checkpoint-action", "--rsh-command", "--info-script", "--new-volume-script", "--rmt-command",
	} {
		for _, a := range args[1:] {
			if len(a.text()) > 6 && abbreviates(a.text(), option) && a.text() != "--checkpoint" {
				s.dynamic = true
			}
		}
	}
	mode := tarMode(args)
	for _, text := range append(values(dashed(args), 'I', ""), exactly(args, "--use-compress-program")...) {
		s.mayRun(text)
	}
	if strings.Contains(mode, "F") || strings.Contains(mode, "x") && strings.Contains(mode, "P") {
		s.dynamic = true
	}
	switch {
	case strings.ContainsAny(mode, "x"):
		into := append(values(dashed(args), 'C', ""), values(args, 0, "--directory")...)
		if len(into) == 0 {
			into = []arg{literal("**")}
		}
		s.writeAll(into)
	case strings.ContainsAny(mode, "cruA"):
		s.writeAll(values(dashed(args), 'f', "--file"))
	}
	for _, a := range args[1:] {
		if strings.HasPrefix(a.text(), "--remove") || !a.exact && strings.HasPrefix(a.text(), "-") {
			s.dynamic = true
		}
	}
}

// tarMode is all option letters, including those for the long options.
func tarMode(args []arg) string {
	mode := ""
	for i, a := range args[1:] {
		text := a.text()
		switch {
		case abbreviates(text, "--extract") || abbreviates(text, "--get"):
			mode += "x"
		case abbreviates(text, "--absolute-names"):
			mode += "P"
		case abbreviates(text, "--create") || abbreviates(text, "--append") || abbreviates(text, "--update"):
			mode += "c"
		case strings.HasPrefix(text, "--"):
		case i == 0 || strings.HasPrefix(text, "-"):
			mode += text
		}
	}
	return mode
}

func dashed(args []arg) []arg {
	if len(args) < 2 || strings.HasPrefix(args[1].text(), "-") || args[1].text() == "" {
		return args
	}
	first := args[1]
	first.alternatives = []string{"-" + first.text()}
	return append([]arg{args[0], first}, args[2:]...)
}
