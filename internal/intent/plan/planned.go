package plan

import "strings"

// PlansArguments reports whether the step says with which arguments its tool is called.
func (s *Step) PlansArguments() bool { return len(s.Given) > 0 || s.Strict }

// Planned are the steps, ascending, that have a tool, whatever its arguments.
func (p *Plan) Planned(tool string) []int {
	r := p.Fit(Call{Tool: tool, NoArguments: true})
	return r.Steps
}

// Reported reports whether a step has the arguments that a client reports. Clients remove secrets from reports and cut
// long values; what they left out counts as planned.
func (p *Plan) Reported(step int, args Arguments) bool {
	s := &p.Steps[step]
	for _, given := range s.Given {
		value, ok := args.find(given.Key)
		if !ok || !given.fits(value) && !isShortened(given.Equal, value) {
			return false
		}
	}
	return !s.Strict || len(args.members) == len(s.Given)
}

// removed reads the texts that published clients put in the place of a secret as one.
var removed = strings.NewReplacer("***redacted***", secretMark, "[redacted]", secretMark)

const secretMark = "<redacted>"

// shortest is the fewest bytes that a published client leaves of a value that it cuts.
const shortest = 700

// isShortened reports whether a reported value, in canonical JSON, may be the planned one without its secrets or its
// end.
func isShortened(planned, reported string) bool {
	if len(reported) >= shortest && len(planned) > shortest && planned[:shortest] == reported[:shortest] {
		return true
	}
	parts := strings.Split(removed.Replace(reported), secretMark)
	if len(parts) == 1 {
		return false
	}
	for i, part := range parts[:len(parts)-1] {
		at := strings.Index(planned, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		planned = planned[at+len(part):]
	}
	return strings.HasSuffix(planned, parts[len(parts)-1])
}
