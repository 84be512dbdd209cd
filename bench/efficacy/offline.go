package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"writ/internal/intent/grounding"
	"writ/internal/toolcall"
)

// offline judges with the package alone, without a server.
type offline struct {
	classes map[string]string
	setup   setup
}

type offlineSession struct {
	decider *offline
	run     *run
	plan    []step
	given   []string
	prompts []string
	known   *grounding.Known
	outputs []*grounding.Output
	used    []string
}

func (d *offline) begin(r *run) (session, error) {
	s := &offlineSession{decider: d, run: r, plan: d.setup.plan(r)}
	if d.setup.prompt {
		s.prompts = []string{r.Prompt}
	}
	s.known = grounding.NewKnown(s.prompts, nil, false)
	if !d.setup.given {
		return s, nil
	}
	for _, st := range s.plan {
		for _, raw := range st.Args {
			s.given = append(s.given, leavesOf(raw)...)
		}
	}
	return s, nil
}

// leavesOf are the texts of a JSON value.
func leavesOf(raw json.RawMessage) []string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	switch v := v.(type) {
	case nil, bool:
		return nil
	case []any:
		var list []string
		for _, item := range v {
			text, _ := json.Marshal(item)
			list = append(list, leavesOf(text)...)
		}
		return list
	case string:
		return []string{v}
	}
	return []string{fmt.Sprint(v)}
}

func (s *offlineSession) read(c *call) (grounding.Call, error) {
	arguments, err := toolcall.Decode(c.Args)
	class := grounding.Class(s.decider.classes[s.run.Suite+"/"+c.Tool])
	if !class.Valid() {
		class = grounding.Write
	}
	return grounding.Call{Tool: c.Tool, Class: class, Arguments: arguments}, err
}

func (s *offlineSession) judge(c *call) (grounding.Result, error) {
	read, err := s.read(c)
	if err != nil {
		return grounding.Result{}, err
	}
	p := grounding.Plan{Declared: s.decider.setup.declares(s.run), Given: s.given}
	p.Used = func(identity string) bool { return slices.Contains(s.used, identity) }
	p.Planned = s.decider.setup.may && slices.Contains(s.run.May, c.Tool)
	if !s.decider.setup.given {
		p.Given = nil
	}
	open := map[string]bool{}
	for _, st := range s.plan {
		if st.Tool != c.Tool {
			continue
		}
		p.Planned = true
		for name, raw := range st.Args {
			if values := leavesOf(raw); len(values) > 0 && !slices.ContainsFunc(values, s.foreign) {
				p.Fixed = append(p.Fixed, name)
			} else {
				open[name] = true
			}
		}
	}
	p.Fixed = slices.DeleteFunc(p.Fixed, func(name string) bool { return open[name] })
	return grounding.Judge(s.known, p, read, s.decider.setup.options()), nil
}

func (s *offlineSession) foreign(value string) bool { return !s.known.Says(value) }

func (s *offlineSession) decide(c *call) (answer, error) {
	r, err := s.judge(c)
	if err != nil || !r.Pass {
		return answer{"hold", why(r)}, err
	}
	s.used = append(s.used, r.Identities...)
	return answer{"allow", string(r.Rule)}, nil
}

func why(r grounding.Result) string {
	list := []string{string(r.Rule)}
	for _, d := range r.Doubts {
		text := d.Argument + "<" + string(d.Origin)
		if d.Of != "" {
			text += ":" + d.Of
		}
		if d.Ordered {
			text += "!"
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func (s *offlineSession) approve(c *call) (answer, error) {
	r, err := s.judge(c)
	s.used = append(s.used, r.Identities...)
	return answer{"allow", "approved"}, err
}

func (s *offlineSession) report(c *call) error {
	read, err := s.read(c)
	if err != nil {
		return err
	}
	output := grounding.NewOutput(read, c.output)
	if !s.decider.setup.outputs {
		output = grounding.UnknownOutput()
	}
	s.outputs = append(s.outputs, output)
	s.known = grounding.NewKnown(s.prompts, s.outputs, false)
	return nil
}
