package evasion

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The templates in testdata have one line each, with ⏎ for a new line. ‹a¦b› is a choice;
// ⟦…⟧ is text that is quoted as one word; @@ is an @.
//
// In carriers, @W is the target as a word, @w as it stands within code, @A as an absolute
// path; @D and @d are a directory, @F is a file of the workspace that lists the target;
// @P is a program to start and @p its name within code.
//
// In wraps, @T is the inner command, @Q the same as one word, @S the same where words are
// wanted, @L on one line, @Z on one line in double quotes, @J as a string of awk, @H as a
// string of Perl, Python and JavaScript, @M as a line of a makefile.

// readTemplates reads one file of testdata.
func readTemplates(name string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "## ") {
			all = append(all, strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("testdata/%s.txt has no templates", name)
	}
	return all, nil
}

var (
	choice = regexp.MustCompile(`‹[^‹›]*›`)
	quoted = regexp.MustCompile(`(?s)⟦(.*?)⟧`)
	mark   = regexp.MustCompile(`@[@A-Za-z]`)
)

// choose resolves the choices of a template.
func choose(r *rand.Rand, template string) string {
	return choice.ReplaceAllStringFunc(template, func(list string) string {
		items := strings.Split(strings.Trim(list, "‹›"), "¦")
		return items[r.IntN(len(items))]
	})
}

// expand fills a template: fill gives the text of a mark, quote writes text as a word.
func expand(template string, fill func(mark byte) string, quote func(text string) string) string {
	marks := func(text string) string {
		return mark.ReplaceAllStringFunc(text, func(m string) string {
			if m == "@@" {
				return "@"
			}
			return fill(m[1])
		})
	}
	var b strings.Builder
	for {
		at := quoted.FindStringSubmatchIndex(template)
		if at == nil {
			return b.String() + marks(template)
		}
		b.WriteString(marks(template[:at[0]]))
		b.WriteString(quote(marks(template[at[2]:at[3]])))
		template = template[at[1]:]
	}
}

// awkString is a text as a string of awk.
func awkString(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// hexString is a text as a string of Perl, Python and JavaScript alike.
func hexString(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteString(`\x` + strconv.FormatUint(uint64(c)>>4, 16) + strconv.FormatUint(uint64(c)&15, 16))
	}
	return `"` + b.String() + `"`
}

// oneLine writes a command on one line, where it has no here-document.
func oneLine(text string) string {
	return strings.NewReplacer("\n)", " )", "\n}", "; }", "\n", "; ").Replace(text)
}
