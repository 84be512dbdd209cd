package scope

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/intent/grounding"
	"writ/internal/toolcall"
)

// Load reads what is known of a scope and of the words of a plan. What is cached counts if the revision is the same.
// Of callers that miss it together, one reads.
func (s *Service) Load(ctx context.Context, key Key, planID string) (*State, error) {
	return s.load(ctx, key.ID(), planID)
}

func (s *Service) load(ctx context.Context, id, planID string) (*State, error) {
	name := id + "/" + planID
	at, err := readScope(ctx, s.db.Prepared(), id)
	if err != nil {
		return nil, err
	}
	if state := s.cache.get(name); state.isAt(at) {
		return state, nil
	}
	turn := s.cache.turn(name)
	turn.Lock()
	defer turn.Unlock()
	before := s.cache.get(name)
	if before.isAt(at) {
		return before, nil
	}
	state, err := s.read(ctx, id, planID, at, before)
	if err != nil {
		return nil, err
	}
	s.cache.put(name, state)
	return state, nil
}

// read reads a scope: what was added since it was read before, if nothing else changed.
func (s *Service) read(ctx context.Context, id, planID string, at revision, before *State) (*State, error) {
	state := &State{ID: id, Revision: at.number}
	if before != nil && before.Revision >= at.rewritten && before.Revision <= at.number {
		added, err := s.readOutputs(ctx, id, before.Revision, at.number, nil)
		if err != nil {
			return nil, err
		}
		state.outputs = append(slices.Clone(before.outputs), added...)
		state.Known = before.Known.Add(parsed(added), at.dropped)
	} else {
		prompts, err := s.readPrompts(ctx, id, planID)
		if err != nil {
			return nil, err
		}
		if state.outputs, err = s.readOutputs(ctx, id, 0, at.number, before); err != nil {
			return nil, err
		}
		state.Known = grounding.NewKnown(prompts, parsed(state.outputs), at.dropped)
	}
	state.outputs = state.outputs[len(state.outputs)-state.Known.Outputs():]
	for _, o := range state.outputs {
		state.bytes += o.parsed.Memory()
	}
	return state, nil
}

func parsed(outputs []*output) []*grounding.Output {
	list := make([]*grounding.Output, len(outputs))
	for i, o := range outputs {
		list[i] = o.parsed
	}
	return list
}

// revision says how far a scope has come.
type revision struct {
	number    int64 // 0: nothing is known
	rewritten int64 // the last one that did more than add a call
	dropped   bool
}

// Revision is the present revision of a scope; 0: nothing is known.
func Revision(ctx context.Context, r database.Reader, id string) (int64, error) {
	at, err := readScope(ctx, r, id)
	return at.number, err
}

func readScope(ctx context.Context, r database.Reader, id string) (at revision, err error) {
	err = r.QueryRow(ctx, `SELECT revision, rewritten, dropped FROM known_scope WHERE id = $1`, id).Scan(&at.number,
		&at.rewritten, database.ToBool(&at.dropped))
	return at, database.OrMissing(err, nil, "read what is known of a session")
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

// readOutputs reads the calls that were added to a scope after one revision and until another. Those that were read
// before are not opened again.
func (s *Service) readOutputs(
	ctx context.Context, scopeID string, after, until int64, before *State,
) ([]*output, error) {
	outputs, err := database.Collect(ctx, s.db.Prepared(), func(r database.Scanner) (*output, error) {
		o := &output{}
		return o, r.Scan(&o.id, &o.planID, &o.state)
	}, `
		SELECT id, plan_id, state
		FROM known_output
		WHERE scope_id = $1 AND number > $2 AND number <= $3
		ORDER BY number`, scopeID, after, until)
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
	Carried   bool            `json:"carried,omitzero"`   // by the proxy, whose word about its output counts
}

// open reads and parses what is stored of an output. What was erased meanwhile is unknown.
func (s *Service) open(ctx context.Context, o *output) error {
	o.parsed = grounding.UnknownOutput()
	var sealedIn, sealedOut []byte
	err := s.db.Prepared().QueryRow(ctx, `SELECT sealed_call, sealed_output FROM known_output WHERE id = $1`,
		o.id).Scan(&sealedIn, &sealedOut)
	if err = database.OrMissing(err, nil, "read an output"); err != nil || len(sealedIn) == 0 {
		return err
	}
	call, err := s.openCall(o.id, sealedIn)
	if err != nil {
		return err
	}
	o.uses = call.Uses
	if o.state != known || len(sealedOut) == 0 {
		return nil
	}
	asked, err := call.read()
	if err != nil {
		return err
	}
	text, err := s.sealer.Open(outputContext(o.id), sealedOut)
	if err != nil {
		return err
	}
	o.parsed = grounding.NewOutput(asked, string(text))
	return nil
}

func (s *Service) openCall(id string, sealed []byte) (call sealedCall, err error) {
	text, err := s.sealer.Open(callContext(id), sealed)
	if err != nil {
		return call, err
	}
	if err := json.Unmarshal(text, &call); err != nil {
		return call, errors.New("its call cannot be read") // the decoder's error may show parts of it
	}
	return call, nil
}

// read reads the arguments of a call.
func (c *sealedCall) read() (grounding.Call, error) {
	call := grounding.Call{Tool: c.Tool, Class: c.Class}
	if c.Arguments == "" {
		return call, nil
	}
	arguments, err := toolcall.Decode([]byte(c.Arguments))
	if err != nil {
		return call, errors.New("its arguments cannot be read")
	}
	call.Arguments = arguments
	return call, nil
}

// What sealed bytes are bound to.

func promptContext(id string) string { return "known-prompt/" + id }
func callContext(id string) string   { return "known-call/" + id }
func outputContext(id string) string { return "known-output/" + id }
