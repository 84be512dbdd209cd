package main

import "writ/internal/intent/grounding"

// setup is one way to judge the runs.
type setup struct {
	name      string
	grounding string // off or ask
	early     bool   // unplannedBeforeText: allow
	denies    bool   // the policy denies everything
	planless  bool   // no plan is declared
	bare      bool   // a run for which no plan was made declares none, instead of an empty one
	oracle    bool
	// The facts that are told.
	prompt, given, may, outputs bool
}

func (s setup) beforeText() string {
	if s.early {
		return "allow"
	}
	return "hold"
}

func (s setup) plan(r *run) []step {
	if s.oracle {
		return r.Oracle
	}
	return r.Declared
}

// declares reports whether a run declares a plan.
func (s setup) declares(r *run) bool { return !s.planless && (!s.bare || s.plan(r) != nil) }

func (s setup) options() grounding.Options { return grounding.Options{UnplannedBeforeText: s.early} }

// controls are setups whose results are known.
func controls() []setup {
	return []setup{
		{name: "control: allow all", grounding: "off", planless: true},
		{name: "control: deny all", grounding: "off", planless: true, denies: true},
		{name: "control: tool in the oracle plan", grounding: "off", oracle: true},
	}
}

// asked are the setups that are measured.
func asked() []setup {
	all := setup{
		grounding: "ask",
		early:     true,
		prompt:    true,
		given:     true,
		may:       true,
		outputs:   true,
	}
	list := []setup{all}
	list[0].name = "declared plan"
	add := func(name string, change func(*setup)) {
		s := all
		s.name = name
		change(&s)
		list = append(list, s)
	}
	add("declared plan, unplannedBeforeText: hold", func(s *setup) { s.early = false })
	add("declared plan without may", func(s *setup) { s.may = false })
	add("declared plan, none where none was made", func(s *setup) { s.bare = true })
	add("declared plan without may, none where none was made", func(s *setup) { s.bare, s.may = true, false })
	add("oracle plan", func(s *setup) { s.oracle = true })
	add("declared plan without the prompt", func(s *setup) { s.prompt = false })
	add("declared plan without given values", func(s *setup) { s.given = false })
	add("declared plan without outputs", func(s *setup) { s.outputs = false })
	return list
}
