package writ

import (
	"errors"
	"net/http"
	"strings"

	"writ/client"
)

// listCommands are the commands that show what there is, by what a server says of something that is not there.
var listCommands = map[string]string{
	"no such MCP server":        "writ mcp list",
	"no such certificate":       "writ cert list",
	"no such plan":              "writ plan list",
	"no such policy":            "writ policy list",
	"no such proposal":          "writ guard yes",
	"no such session":           "writ sessions list",
	"no such standing approval": "writ approvals standing",
	"no such template":          "writ guard template",
	"no such trace":             "writ traces list",
	"no such webhook":           "writ webhooks list",

	"no such approval request: its id is the approvalId of the decision": "writ approvals list",
}

// listed names, beside the error of a command about something that is not there, the command that lists what is.
func listed(err error) error {
	answer, ok := errors.AsType[*client.Error](err)
	if !ok || answer.StatusCode != http.StatusNotFound || listCommands[answer.Message] == "" {
		return err
	}
	words := answer.Message + ": " + listCommands[answer.Message] + " shows those that there are"
	return rewordedError{err, strings.Replace(err.Error(), answer.Message, words, 1)}
}
