package decisions

import (
	"strings"

	"writ/internal/api/route"
)

// Decision routes are those whose answer lets a tool run or not. Published
// clients read their bodies before their status, and some take a body without
// "allowed" for a yes. So whatever goes wrong on these paths, wherever it is
// noticed, the body says no in every dialect; and what a client sends wrongly is
// a decision too, a deny with status 200.
var decisionPaths = map[string]bool{
	"/iap/enforce":     true,
	"/iap/sdk/enforce": true,
	"/iap/verify-step": true,
	"/verify/action":   true,
}

// isDecisionPath reports whether a path is one of theirs, also where it leads to nothing because of a slash at its end.
func isDecisionPath(path string) bool { return decisionPaths[strings.TrimSuffix(path, "/")] }

// RefusedBody is the body of an error on a decision route: it says no in the words of every client.
type RefusedBody struct {
	route.ErrorBody
	RefusalBody
}

// RefusalBody is what the body of an error on a decision route says besides.
type RefusalBody struct {
	Allowed           bool   `json:"allowed" doc:"False."`
	Action            string `json:"action" enum:"deny"`
	EnforcementAction string `json:"enforcementAction" enum:"block"`
	Reason            string `json:"reason" doc:"The message again."`
}

var decisionErrors = route.Shape{
	Matches: isDecisionPath,
	Of: func(_ error, body route.ErrorBody) any {
		return RefusedBody{body, RefusalBody{Action: wordDeny, EnforcementAction: wordBlock, Reason: body.Message}}
	},
	Documented: RefusedBody{},
}
