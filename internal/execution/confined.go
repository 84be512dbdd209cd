package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/confine"
	"writ/internal/database"
	"writ/internal/names"
	"writ/internal/redaction"
)

// Limits of what a report says about confinement.
const (
	maxRefused     = 64   // refusals; the rest is left out
	maxRefusedText = 1000 // bytes of one; longer ones are cut
	maxHeld        = 16
)

// The limits that a kernel can hold.
const (
	heldWrite = "write"
	heldRead  = "read"
	heldNet   = "net"
)

// Confined is what a client says that it confined a call to.
type Confined struct {
	confine.Limits
	// Held are the limits that the kernel held: write, read, net. Those that it could not hold are not in it.
	Held []string `json:"held,omitempty"`
}

// keeps reports whether the call could do nothing that the limits do not permit.
func (c *Confined) keeps(demanded confine.Limits) bool {
	return c.Within(demanded) && slices.Contains(c.Held, heldWrite) && slices.Contains(c.Held, heldRead) &&
		slices.Contains(c.Held, heldNet)
}

// readConfined reads what a row says about confinement; nil: nothing.
func readConfined(raw jsontext.Value) (*Confined, error) {
	if raw.Kind() == 0 || raw.Kind() == 'n' {
		return nil, nil
	}
	var w struct {
		Write   []string       `json:"write"`
		Read    []string       `json:"read"`
		Net     jsontext.Value `json:"net"`
		Protect []string       `json:"protect"`
		Held    []string       `json:"held"`
	}
	if raw.Kind() != '{' || json.Unmarshal(raw, &w) != nil {
		return nil, errors.New("confined must be an object of lists of text: write, read, net, protect and held")
	}
	c := &Confined{Limits: confine.Limits{Write: w.Write, Read: w.Read, Protect: w.Protect}, Held: w.Held}
	switch {
	case w.Net.Kind() == 0 || w.Net.Kind() == 'n' || text(w.Net) == "none":
	case json.Unmarshal(w.Net, &c.Net) != nil:
		return nil, errors.New("confined.net must be none or a list of HOST:PORT")
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("confined.%w", err)
	}
	if len(c.Held) > maxHeld {
		return nil, fmt.Errorf("confined.held must list at most %d", maxHeld)
	}
	for i, held := range c.Held {
		if held != heldWrite && held != heldRead && held != heldNet {
			return nil, fmt.Errorf("confined.held[%d] must be write, read or net", i)
		}
	}
	return c, nil
}

// readRefused reads what the kernel refused, without secrets.
func readRefused(raw jsontext.Value) ([]string, error) {
	if raw.Kind() == 0 || raw.Kind() == 'n' {
		return nil, nil
	}
	var refused []string
	if raw.Kind() != '[' || json.Unmarshal(raw, &refused) != nil {
		return nil, errors.New("refused must be a list of texts")
	}
	refused = refused[:min(len(refused), maxRefused)]
	for i, one := range refused {
		refused[i] = names.Cut(redaction.Text(one), maxRefusedText)
	}
	return refused, nil
}

// readConfinement reads what a row says about confinement.
func (r *row) readConfinement(w *wireRow) (err error) {
	if r.confined, err = readConfined(w.Confined); err != nil {
		return err
	}
	r.refused, err = readRefused(w.Refused)
	r.payload.Confined, r.payload.Refused = r.confined, r.refused
	return err
}

// confinedText is what an execution stores of it.
func (r *row) confinedText() (string, error) {
	if r.confined == nil {
		return "", nil
	}
	text, err := json.Marshal(r.confined)
	return string(text), err
}

// demandedText is what a waiting call stores of the limits that it was allowed with.
func demandedText(demanded *confine.Limits) (string, error) {
	if demanded == nil {
		return "", nil
	}
	text, err := json.Marshal(demanded)
	return string(text), err
}

// findRefusal makes a finding of a report that the kernel refused something.
func findRefusal(ctx context.Context, tx *database.Tx, id string, position int64, it *item) error {
	if len(it.refused) == 0 {
		return nil
	}
	return insertFinding(ctx, tx, it.finding(tx, KernelRefused, id, position))
}

// compareConfinement makes a finding of an execution that was allowed only confined, and was not, or not as narrowly.
func compareConfinement(ctx context.Context, tx *database.Tx, orgID string, e stored, found awaited) error {
	if found.confine == "" {
		return nil
	}
	var demanded confine.Limits
	if err := json.Unmarshal([]byte(found.confine), &demanded); err != nil {
		return fmt.Errorf("read what the call had to be confined to: %w", err)
	}
	var confined Confined
	if e.confined != "" {
		if err := json.Unmarshal([]byte(e.confined), &confined); err != nil {
			return fmt.Errorf("read what the call was confined to: %w", err)
		}
		if confined.keeps(demanded) {
			return nil
		}
	}
	f := e.finding(orgID, NotConfined)
	f.DecisionID = found.decisionID
	return insertFinding(ctx, tx, f)
}
