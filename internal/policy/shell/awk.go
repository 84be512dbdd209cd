package shell

import (
	"regexp"
	"strings"
)

// awk reads an awk program, which may start others or write files.
func awk(s *scan, args []arg) {
	files := values(args, 'f', "--file")
	for _, file := range files {
		s.script(file)
	}
	if len(files) == 0 {
		program := operands(args, "vF", "--assign", "--field-separator")
		if len(program) == 0 {
			s.dynamic = true
			return
		}
		for _, text := range program[0].alternatives {
			if awkActs.MatchString(awkOr.ReplaceAllString(text, " ")) || text == "" {
				s.dynamic = true
			}
		}
	}
	for _, a := range args[1:] {
		if text := a.text(); strings.HasPrefix(text, "-i") || strings.HasPrefix(text, "-l") ||
			strings.HasPrefix(text, "-e") || strings.HasPrefix(text, "-E") || strings.HasPrefix(text, "--so") ||
			strings.HasPrefix(text, "--e") || strings.HasPrefix(text, "--l") || strings.HasPrefix(text, "--i") {
			s.dynamic = true
		}
	}
}

var (
	awkOr   = regexp.MustCompile(`\|\|`)
	awkActs = regexp.MustCompile(`system|getline|@|close|\|\s*["&]|\|\s*[a-zA-Z_]\w*\s*[;}\n]|print[^;}\n]*>\s*[^=\s]|\bfflush`)
)
