package scope

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/intent/grounding"
	"writ/internal/toolcall"
)

// Load reads what is known of a scope and of the words of a plan. What is cached counts if the revision is the same.
func (s *Service) Load(ctx context.Context, key Key, planID string) (*State, error) {
	id := key.ID()
	revision, dropped, err := readScope(ctx, s.db.Prepared(), id)
	if err != nil {
		return nil, err
	}
	name := id + "/" + planID
	before := s.cache.get(name)
	if before != nil && before.Revision == revision && before.Known != nil {
		return before, nil
	}
	prompts, err := s.readPrompts(ctx, id, planID)
	if err != nil {
		return nil, err
	}
	state := &State{ID: id, Revision: revision, dropped: dropped}
	if revision > 0 {
		if state.outputs, err = s.readOutputs(ctx, id, before); err != nil {
			return nil, err
		}
	}
	parsed := make([]*grounding.Output, len(state.outputs))
	for i, o := range state.outputs {
		parsed[i] = o.parsed
		state.bytes += o.parsed.Memory()
	}
	state.Known = grounding.NewKnown(prompts, parsed, dropped)
	s.cache.put(name, state)
	return state, nil
}

// Revision is the present revision of a scope; 0: nothing is known.
func Revision(ctx context.Context, r database.Reader, id string) (int64, error) {
	revision, _, err := readScope(ctx, r, id)
	return revision, err
}

func readScope(ctx context.Context, r database.Reader, id string) (revision int64, dropped bool, err error) {
	err = r.QueryRow(ctx, `SELECT revision, dropped FROM known_scope WHERE id = $1`, id).Scan(&revision,
		database.ToBool(&dropped))
	return revision, dropped, database.OrMissing(err, nil, "read what is known of a session")
}

// readPrompts reads the user's words of a scope, and those that a plan was declared with.
func (s *Service) readPrompts(ctx context.Context, scopeID, planID string) ([]string, error) {
	type row struct {
		id     string
		sealed []byte
	}
	rows, err := database.Collect(ctx, s.db.Prepared(), func(r database.Scanner) (p row, err error) {
		err = r.Scan(&p.id, &p.sealed)
		return p, err
	}, `
		SELECT id, sealed
		FROM known_prompt
		WHERE scope_id = $1 OR plan_id = $2 AND plan_id <> ''
		ORDER BY created_at, id`, scopeID, planID)
	if err != nil {
		return nil, fmt.Errorf("read the prompts of a session: %w", err)
	}
	var prompts []string
	for _, p := range rows {
		text, err := s.sealer.Open(promptContext(p.id), p.sealed)
		if err != nil {
			return nil, fmt.Errorf("open prompt %s: %w", p.id, err)
		}
		prompts = append(prompts, string(text))
	}
	return prompts, nil
}

// readOutputs reads the calls of a scope. Those that were read before are not opened again.
func (s *Service) readOutputs(ctx context.Context, scopeID string, before *State) ([]*output, error) {
	outputs, err := database.Collect(ctx, s.db.Prepared(), func(r database.Scanner) (*output, error) {
		o := &output{}
		return o, r.Scan(&o.id, &o.planID, &o.state)
	}, `
		SELECT id, plan_id, state
		FROM known_output
		WHERE scope_id = $1
		ORDER BY number`, scopeID)
	if err != nil {
		return nil, fmt.Errorf("read the outputs of a session: %w", err)
	}
	for i, o := range outputs {
		if same := before.find(o); same != nil {
			outputs[i] = same
			continue
		}
		if err := s.open(ctx, o); err != nil {
			return nil, fmt.Errorf("open the output of decision %s: %w", o.id, err)
		}
	}
	return outputs, nil
}

// find is an output as it was read before; nil: it was not, or has changed.
func (s *State) find(o *output) *output {
	if s == nil {
		return nil
	}
	for _, known := range s.outputs {
		if known.id == o.id && known.state == o.state {
			return known
		}
	}
	return nil
}

// sealedCall is a call as it is stored.
type sealedCall struct {
	Tool      string          `json:"tool"`
	Class     grounding.Class `json:"class"`
	Arguments string          `json:"arguments,omitzero"` // JSON
	Uses      []string        `json:"uses,omitempty"`     // identities
}

// open reads and parses what is stored of an output. What was erased meanwhile is unknown.
func (s *Service) open(ctx context.Context, o *output) error {
	var sealedIn, sealedOut []byte
	err := s.db.Prepared().QueryRow(ctx, `SELECT sealed_call, sealed_output FROM known_output WHERE id = $1`,
		o.id).Scan(&sealedIn, &sealedOut)
	if err = database.OrMissing(err, nil, "read an output"); err != nil {
		return err
	}
	call := grounding.Call{Class: grounding.Write}
	if len(sealedIn) > 0 {
		if call, o.uses, err = s.openCall(o.id, sealedIn); err != nil {
			return err
		}
	}
	o.parsed = grounding.UnknownOutput(call)
	if o.state != known || len(sealedIn) == 0 || len(sealedOut) == 0 {
		return nil
	}
	text, err := s.sealer.Open(outputContext(o.id), sealedOut)
	if err != nil {
		return err
	}
	o.parsed = grounding.NewOutput(call, string(text))
	return nil
}

func (s *Service) openCall(id string, sealed []byte) (call grounding.Call, uses []string, err error) {
	text, err := s.sealer.Open(callContext(id), sealed)
	if err != nil {
		return call, nil, err
	}
	var stored sealedCall
	if err := json.Unmarshal(text, &stored); err != nil {
		return call, nil, fmt.Errorf("its call cannot be read") // the decoder's error may show parts of it
	}
	call = grounding.Call{Tool: stored.Tool, Class: stored.Class}
	if stored.Arguments != "" {
		if call.Arguments, err = toolcall.Decode([]byte(stored.Arguments)); err != nil {
			return call, nil, fmt.Errorf("its arguments cannot be read")
		}
	}
	return call, stored.Uses, nil
}

// What sealed bytes are bound to.

func promptContext(id string) string { return "known-prompt/" + id }
func callContext(id string) string   { return "known-call/" + id }
func outputContext(id string) string { return "known-output/" + id }
