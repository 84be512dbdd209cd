package risk

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/verdict"
)

// Limits of History, which runs in the transaction that opens a request.
const (
	maxLooked  = 50      // decisions
	maxPayload = 4 << 10 // bytes; longer payloads are not read
)

// Caller is a caller and the tool it calls.
type Caller struct {
	OrgID, KeyID, AgentID string // an agent that is not stated is empty
	Server, Tool          string
	At                    time.Time // now
}

// names are the tool's names in decisions: clients may put the server in front.
func (c Caller) names() []string {
	if c.Server == "" {
		return []string{c.Tool}
	}
	return []string{c.Tool, c.Server + "__" + c.Tool, "mcp__" + c.Server + "__" + c.Tool}
}

// History reads what the caller did with the tool before, from the audit log of
// its organization: the latest decisions about the tool, at most fifty, whoever
// made the calls. Of an erased payload it only learns that a call ran.
func History(ctx context.Context, r database.Reader, c Caller) (Past, error) {
	var past Past
	for _, name := range c.names() {
		if past.Looked >= maxLooked {
			break
		}
		entries, err := audit.Latest(ctx, r, audit.LogOf(c.OrgID), audit.Filter{Tool: name}, maxLooked-past.Looked)
		if err != nil {
			return Past{}, fmt.Errorf("read the history of a tool: %w", err)
		}
		past.Looked += len(entries)
		for i := range entries {
			if err := past.add(c, &entries[i]); err != nil {
				return Past{}, fmt.Errorf("read the history of a tool: %w", err)
			}
		}
	}
	return past, nil
}

// add takes an entry into account if it is of a call by this caller.
func (p *Past) add(c Caller, entry *audit.Stored) error {
	record, err := entry.Parse()
	if err != nil {
		return err
	}
	if record.Actor.ID != c.KeyID || c.AgentID != "" && record.Agent != c.AgentID {
		return nil
	}
	said, err := readSaid(entry)
	if err != nil {
		return err
	}
	switch {
	case record.Server != c.Server && record.Server != "" && c.Server != "":
		// Another tool of that name.
	case record.Verdict == verdict.Allow.String():
		p.Remember(string(said.Arguments))
	case record.Policy == byIntent && record.Rule != ungrounded &&
		record.Time > database.Micros(c.At.Add(-DriftWindow)):
		p.Drifted++
	}
	return nil
}

// byIntent is the decidedBy of a call that is not in its plan, unless the rule says that it is only in doubt.
const (
	byIntent   = "writ:intent"
	ungrounded = "ungrounded"
)

// said is the part of a decision's payload that matters here.
type said struct {
	Arguments jsontext.Value `json:"arguments"`
}

// readSaid reads a payload, unless it was erased or is long.
func readSaid(entry *audit.Stored) (s said, err error) {
	if len(entry.Payload) == 0 || len(entry.Payload) > maxPayload {
		return said{}, nil
	}
	if err := json.Unmarshal([]byte(entry.Payload), &s); err != nil {
		return said{}, fmt.Errorf("entry %d: read its payload: %w", entry.Index, err)
	}
	return s, nil
}

// Remember adds a call that ran, by its redacted arguments.
func (p *Past) Remember(text string) {
	p.Ran++
	if p.Names == nil {
		p.Names, p.Values = map[string]bool{}, map[string]bool{}
	}
	args := readArguments(text)
	for _, name := range args.names {
		p.Names[name] = true
	}
	for _, v := range args.values {
		p.Values[v.key()] = true
	}
	if amount := largest(args.amounts, nil); amount != nil {
		p.Amounts = append(p.Amounts, *amount)
	}
}
