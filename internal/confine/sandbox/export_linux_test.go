//go:build amd64 || arm64

package sandbox

// RefusedCalls are the system calls that the filter refuses whatever their arguments are.
func RefusedCalls() map[int]string {
	calls := map[int]string{}
	for _, c := range refusedCalls(nil) {
		if len(c.tests) == 0 && !c.absent {
			calls[int(c.number)] = c.name
		}
	}
	return calls
}
