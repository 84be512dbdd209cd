package main

import (
	"fmt"
	"time"

	"writ/internal/policy/shell"
)

// command200 is a command of 200 bytes that is plain, of the kind that coding agents
// run; hidden200 is one that is not.
const (
	command200 = `git diff --stat HEAD~1 -- shell && cd internal/policy && grep -rn "func Parse" --include='*.go' . | ` +
		`head -n 20 && sed -n '10,40p' shell/shell.go > ../out.txt && wc -l ../out.txt && find . -name x -type f`
	hidden200 = `for f in $(git ls-files '*.go'); do x=$(wc -l < "$f"); [[ $x -gt 300 ]] && echo "$f: $x"; done | ` +
		`sort -t: -k2 -rn | xargs -n1 echo; make build && ./bin/app --check "$HOME/.config/app.yaml" | tee out/log`
)

const shellTarget = "at most 20 us"

// printShell measures how long it takes to read a command.
func printShell(seconds float64, rounds int) {
	fmt.Println()
	for _, c := range []struct{ name, text string }{{"plain", command200}, {"not plain", hidden200}} {
		var times []time.Duration
		for range rounds {
			times = append(times, perDecision(func() bool {
				found := shell.Parse(c.text)
				return found.Plain()
			}, seconds))
		}
		fmt.Printf("shell() of %d bytes, %s: %.1f us of CPU, target %s\n", len(c.text), c.name,
			float64(median(times))/float64(time.Microsecond), shellTarget)
	}
}
