package aftertool

import (
	"encoding/json"
	"fmt"
	"os"

	"writ/internal/confine/sandbox"
	"writ/internal/hook/private"
	"writ/internal/hook/state"
	"writ/internal/redaction"
)

const (
	maxRunReport = 1 << 20
	maxRefused   = 64
)

// confinement is what held a call that was allowed only confined, in the words of the decision, and what was refused to
// it. Without a report of writ run nothing is said to have held, and the server finds that.
func (s *session) confinement(call *state.Call) (confined map[string]any, refused []string) {
	if call == nil || len(call.Confine) == 0 || json.Unmarshal(call.Confine, &confined) != nil || confined == nil {
		return nil, nil
	}
	path := s.state.RunReport(call.DecisionID)
	text, err := private.Read(path, maxRunReport)
	_ = os.Remove(path)
	var ran sandbox.Report
	if err != nil || json.Unmarshal(text, &ran) != nil || ran.Decision != call.DecisionID {
		return confined, nil
	}
	if len(ran.NotHeld) == 0 {
		confined["held"] = []string{"write", "read", "net"}
	}
	return confined, refusals(ran)
}

// refusals says in words what the kernel refused.
func refusals(ran sandbox.Report) (list []string) {
	for _, call := range ran.Calls {
		list = append(list, fmt.Sprintf("system call %s, %d times", call.Name, call.Count))
	}
	for _, host := range ran.Hosts {
		list = append(list, fmt.Sprintf("connect to %s, %d times", host.Name, host.Count))
	}
	for _, change := range ran.Protected {
		if !change.Expected {
			list = append(list, "protected path "+change.Change+": "+redaction.Text(change.Path))
		}
	}
	return list[:min(len(list), maxRefused)]
}
