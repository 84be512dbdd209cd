package shell

import "testing"

// command200 is a command of 200 bytes that is plain, of the kind that coding agents run; hidden200 is one that is not.
const (
	command200 = `git diff --stat HEAD~1 -- shell && cd internal/policy && grep -rn "func Parse" --include='*.go' . | ` +
		`head -n 20 && sed -n '10,40p' shell/shell.go > ../out.txt && wc -l ../out.txt && find . -name x -type f`
	hidden200 = `for f in $(git ls-files '*.go'); do x=$(wc -l < "$f"); [[ $x -gt 300 ]] && echo "$f: $x"; done | ` +
		`sort -t: -k2 -rn | xargs -n1 echo; make build && ./bin/app --check "$HOME/.config/app.yaml" | tee out/log`
)

func BenchmarkPlain200(b *testing.B)  { benchmarkParse(b, command200) }
func BenchmarkHidden200(b *testing.B) { benchmarkParse(b, hidden200) }

func benchmarkParse(b *testing.B, command string) {
	b.ReportAllocs()
	for b.Loop() {
		Parse(command)
	}
}
