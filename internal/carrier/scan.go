package carrier

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/execution"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/scan"
	"writ/internal/redaction"
)

// maxScanned bounds how much of each end of a result is read for marks, in bytes: an agent waits for it.
const maxScanned = 32 << 10

// scanResult says what looks wrong about a result: text that instructs the model, or a secret. It says which rule found
// it, and shows nothing of the text.
func scanResult(result jsontext.Value) (marks []execution.Mark) {
	text := texts(result)
	report := scan.Server(&definition.Server{Instructions: text})
	seen := map[string]bool{}
	for _, f := range report.Findings {
		if f.Severity < scan.High || seen[f.ID] || !isAboutText(f.ID) {
			continue
		}
		seen[f.ID] = true
		marks = append(marks, execution.Mark{Kind: execution.ResultInstructs, Detail: f.ID + ": " + f.Title})
	}
	if redaction.HoldsKey(text) {
		marks = append(marks, execution.Mark{
			Kind: execution.ResultSecret, Detail: "the result holds what looks like a key",
		})
	}
	return marks
}

// isAboutText reports whether a rule of the scanner is about what a text says or hides, and not about a definition.
func isAboutText(rule string) bool {
	for _, family := range []string{"instruction-", "hidden-", "request-", "exfiltration-", "text-"} {
		if strings.HasPrefix(rule, family) {
			return true
		}
	}
	return false
}

// texts are the strings of a value, one on each line. Of many only the first and the last are read: what is to catch
// a model's eye stands at either end.
func texts(value jsontext.Value) string {
	var out strings.Builder
	in := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
	for {
		token, err := in.ReadToken()
		if err != nil {
			break
		}
		if token.Kind() == jsontext.KindString {
			out.WriteString(token.String())
			out.WriteByte('\n')
		}
	}
	all := out.String()
	if len(all) <= 2*maxScanned {
		return all
	}
	return strings.ToValidUTF8(all[:maxScanned], "") + "\n" + strings.ToValidUTF8(all[len(all)-maxScanned:], "")
}
