package main

import (
	"fmt"
	"strconv"
	"time"

	"writ/internal/policy/document"
	policy "writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

const ours = "writ"

// written is the rules as our policy.
func written(rules []rule) *document.Document {
	doc := &document.Document{Version: document.Version, Name: "bench"}
	for _, r := range rules {
		out := document.Rule{ID: r.id, Effect: verdict.Allow, When: celCondition(r)}
		if r.deny {
			out.Effect = verdict.Deny
		}
		switch {
		case r.tool == "":
			out.Tools = []document.Pattern{document.Pattern(r.server + ".*")}
		case r.prefix:
			out.Tools = []document.Pattern{document.Pattern(r.server + "." + r.tool + "*")}
		default:
			out.Tools = []document.Pattern{document.Pattern(r.server + "." + r.tool)}
		}
		doc.Rules = append(doc.Rules, out)
	}
	return doc
}

func newOurs(rules []rule) (func(call) func() bool, error) {
	compiled, problems := policy.Compile(written(rules))
	if len(problems) > 0 {
		return nil, fmt.Errorf("compile: %v", problems[0])
	}
	set := policy.NewSet([]policy.Active{{ID: "p", Version: 1, Policy: compiled}})
	return func(c call) func() bool {
		request := &toolcall.Call{Server: c.server, Tool: c.tool, Args: c.arguments, Now: time.Unix(1, 0)}
		return func() bool { return set.Evaluate(request, nil).Verdict == verdict.Allow }
	}, nil
}

// celCondition is the condition of a rule in CEL, for us and for a plain scan.
func celCondition(r rule) string {
	argument := "args." + r.argument
	switch r.test {
	case atMost:
		return fmt.Sprintf("%s <= %d", argument, r.number)
	case above:
		return fmt.Sprintf("%s > %d", argument, r.number)
	case equals:
		return argument + " == " + strconv.Quote(r.text)
	case oneOf:
		return argument + " in " + list(r.texts)
	}
	return argument + ".startsWith(" + strconv.Quote(r.text) + ")"
}

// list is a list of texts in CEL, Cedar and Rego alike.
func list(texts []string) string {
	out := "["
	for i, text := range texts {
		if i > 0 {
			out += ", "
		}
		out += strconv.Quote(text)
	}
	return out + "]"
}
