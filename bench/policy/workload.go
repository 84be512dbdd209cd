package main

import (
	"fmt"
	"strconv"
)

// sizes are how many rules there are.
var sizes = []int{10, 100, 1_000, 10_000}

// rule is a rule in no engine's language: a tool of a server, by its name, by
// the beginning of its name, or all of them, and one condition on an argument.
type rule struct {
	id       string
	deny     bool
	server   string
	tool     string // with prefix, what the name begins with; empty: all tools
	prefix   bool
	argument string
	test     test
	number   int64
	text     string
	texts    []string
}

// test is a kind of condition.
type test int

const (
	atMost test = iota // the argument is a number up to the given one
	above              // the argument is a number over the given one
	equals             // the argument is the given text
	oneOf              // the argument is one of the given texts
	begins             // the argument begins with the given text
)

// makeRules makes rules in tens: four by exact name, four by prefix, and two
// that deny a whole server. Every ten rules are about servers of their own, as
// the rules of an organization are.
func makeRules(size int) []rule {
	var rules []rule
	for ten := range size / 10 {
		server := fmt.Sprintf("server%d", ten)
		for i, tool := range []string{"send_money", "create_issue", "run_query", "upload_file"} {
			rules = append(rules, condition(i, rule{
				id: fmt.Sprintf("exact-%d-%d", ten, i), server: server, tool: tool,
			}))
		}
		for i, tool := range []string{"read_", "write_", "list_", "sync_"} {
			rules = append(rules, condition(i, rule{
				id: fmt.Sprintf("prefix-%d-%d", ten, i), server: server, tool: tool, prefix: true,
			}))
		}
		vault := fmt.Sprintf("vault%d", ten)
		rules = append(rules,
			rule{
				id:       fmt.Sprintf("deny-%d-0", ten),
				deny:     true,
				server:   vault,
				argument: "amount",
				test:     above,
				number:   1_000_000,
			},
			rule{
				id:       fmt.Sprintf("deny-%d-1", ten),
				deny:     true,
				server:   vault,
				argument: "currency",
				test:     equals,
				text:     "EUR",
			},
		)
	}
	return rules
}

func condition(kind int, r rule) rule {
	switch kind {
	case 0:
		r.argument, r.test, r.number = "amount", atMost, 1000
	case 1:
		r.argument, r.test, r.text = "currency", equals, "EUR"
	case 2:
		r.argument, r.test, r.texts = "region", oneOf, []string{"eu-west", "eu-north", "us-east"}
	default:
		r.argument, r.test, r.text = "path", begins, "/srv/"
	}
	return r
}

// call is a call and what every engine must say about it. Its server is one of
// those that are in the middle of the rules, for engines that go through them.
type call struct {
	name         string
	server, tool string
	arguments    map[string]any // texts and int64
	allowed      bool
}

func arguments(amount int64) map[string]any {
	return map[string]any{
		"amount":   amount,
		"currency": "EUR",
		"region":   "us-east",
		"path":     "/srv/report.txt",
		"note":     "rent for May, with thanks",
	}
}

// at is the call in the middle of that many rules.
func (c call) at(size int) call {
	c.server += strconv.Itoa(size / 20)
	return c
}

// calls are those that are timed. All but the last meet one condition.
var calls = []call{
	{"allowed by exact name", "server", "send_money", arguments(500), true},
	{"allowed by prefix", "server", "list_files", arguments(500), true},
	{"denied by server.*", "vault", "open", arguments(500), false},
}

// otherCalls are checked only.
var otherCalls = []call{
	{"too much", "server", "send_money", arguments(5_000), false},
	{"no rule", "server", "delete_all", arguments(500), false},
	{"another server", "server-x", "send_money", arguments(500), false},
	{"text is equal", "server", "create_issue", arguments(5_000), true},
	{"path by prefix", "server", "sync_now", arguments(5_000), true},
}
