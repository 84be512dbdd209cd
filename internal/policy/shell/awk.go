package shell

import (
	"regexp"
	"strings"
)

var (
	// awkPlain has words, numbers, texts and the signs of expressions. It has no > and no |,
	// which write and start, and a pattern holds only letters, digits and a few signs.
	awkPlain = regexp.MustCompile(`^(?:[0-9 \t\n{}()$,;.+*%=!<&?:~-]|\|\||"(?:[^"\\\n]|\\[nt"\\])*"|/[\w .^$*+?:#=-]*/` +
		`|(?:print|printf|BEGIN|END|NF|NR|FNR|FS|OFS|if|else|next|exit|length|substr|index|int|tolower|toupper` +
		`|sum|total|count|max|min|sprintf|[A-Za-z_])\b)+$`)
	awkActs = regexp.MustCompile(`(?s)^$|[|@]|system|getline|close|fflush|ARGV|print.*>`)
	awkSafe = strings.NewReplacer("||", " ", ">=", " ")
)

// awkProgram reads a program of awk. It is plain if it only prints and computes with
// fields. Of others we look for what starts a program or writes a file.
func (s *scan) awkProgram(program arg) {
	for _, text := range program.alternatives {
		if !program.exact || !awkPlain.MatchString(text) {
			s.opaque = true
			s.dynamic = s.dynamic || awkActs.MatchString(awkSafe.Replace(text))
		}
	}
}
