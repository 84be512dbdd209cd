package shell

import "testing"

// command200 is a command of 200 bytes, of the kind that coding agents run.
const command200 = `git diff --stat HEAD~1 -- shell && cd internal/policy && grep -rn "func Parse" --include='*.go' . | ` +
	`head -n 20 && sed -n '10,40p' shell/shell.go > ../out.txt && wc -l ../out.txt && find . -name x -type f`

func BenchmarkParse200(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parse(command200)
	}
}
