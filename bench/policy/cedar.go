package main

import (
	"fmt"
	"strconv"

	"github.com/cedar-policy/cedar-go"
)

const cedarGo = "cedar-go"

// newCedar names a tool by an action, which a policy's head can test for without
// looking at the context.
func newCedar(rules []rule) (func(call) func() bool, error) {
	set := cedar.NewPolicySet()
	for _, r := range rules {
		var policy cedar.Policy
		if err := policy.UnmarshalCedar([]byte(cedarPolicy(r))); err != nil {
			return nil, fmt.Errorf("%s: %w", r.id, err)
		}
		set.Add(cedar.PolicyID(r.id), &policy)
	}
	return func(c call) func() bool {
		context := cedar.RecordMap{"name": cedar.String(c.server + "." + c.tool)}
		for name, value := range c.arguments {
			switch v := value.(type) {
			case string:
				context[cedar.String(name)] = cedar.String(v)
			case int64:
				context[cedar.String(name)] = cedar.Long(v)
			}
		}
		request := cedar.Request{
			Principal: cedar.NewEntityUID("Agent", "a1"),
			Action:    cedar.NewEntityUID("Action", cedar.String(c.server+"."+c.tool)),
			Resource:  cedar.NewEntityUID("Server", cedar.String(c.server)),
			Context:   cedar.NewRecord(context),
		}
		return func() bool {
			decision, _ := cedar.Authorize(set, nil, request)
			return decision == cedar.Allow
		}
	}, nil
}

func cedarPolicy(r rule) string {
	effect, head, when := "permit", "action", cedarCondition(r)
	if r.deny {
		effect = "forbid"
	}
	resource := "resource == Server::" + strconv.Quote(r.server)
	switch {
	case r.prefix:
		when = "context.name like " + strconv.Quote(r.server+"."+r.tool+"*") + " && " + when
	case r.tool != "":
		head = "action == Action::" + strconv.Quote(r.server+"."+r.tool)
	}
	return fmt.Sprintf("%s (principal, %s, %s) when { %s };", effect, head, resource, when)
}

func cedarCondition(r rule) string {
	argument := "context." + r.argument
	switch r.test {
	case atMost:
		return fmt.Sprintf("%s <= %d", argument, r.number)
	case above:
		return fmt.Sprintf("%s > %d", argument, r.number)
	case equals:
		return argument + " == " + strconv.Quote(r.text)
	case oneOf:
		return list(r.texts) + ".contains(" + argument + ")"
	}
	return argument + " like " + strconv.Quote(r.text+"*")
}
