package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"writ/internal/canonical"
)

// Form is the profile as it is stored, shown and hashed: canonical JSON with every
// member.
func (p *Profile) Form() ([]byte, error) {
	text, err := canonical.Marshal(p.written())
	if err != nil {
		return nil, fmt.Errorf("write a profile: %w", err)
	}
	return text, nil
}

// Hash is the hex SHA-256 of a form.
func Hash(form []byte) string {
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}

// The profile as JSON.
type (
	written struct {
		SchemaVersion string             `json:"schemaVersion"`
		Kind          string             `json:"kind"`
		Metadata      writtenMetadata    `json:"metadata"`
		Defaults      writtenDefaults    `json:"defaults"`
		Statements    []writtenStatement `json:"statements"`
	}
	writtenMetadata struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	writtenDefaults struct {
		Decision           string `json:"decision"`
		ConflictResolution string `json:"conflictResolution"`
	}
	writtenStatement struct {
		ID         string             `json:"id"`
		Effect     string             `json:"effect"`
		Principal  Principal          `json:"principal"`
		Action     map[string]any     `json:"action"`
		Resource   Resource           `json:"resource"`
		Conditions []writtenCondition `json:"conditions"`
	}
	writtenCondition struct {
		Field string `json:"field"`
		Op    string `json:"op"`
		Value any    `json:"value,omitempty"`
	}
)

func (p *Profile) written() written {
	w := written{
		SchemaVersion: SchemaVersion, Kind: Kind, Metadata: writtenMetadata{p.Name, p.Description},
		Defaults: writtenDefaults{p.Default.String(), denyOverrides}, Statements: []writtenStatement{},
	}
	for i := range p.Statements {
		s := &p.Statements[i]
		action := map[string]any{"type": s.Action.Type}
		if s.Action.List {
			action["in"] = s.Action.Names
		} else {
			action["eq"] = s.Action.Names[0]
		}
		statement := writtenStatement{
			ID:         s.ID,
			Effect:     effectWord(s.Effect),
			Principal:  s.Principal,
			Action:     action,
			Resource:   s.Resource,
			Conditions: []writtenCondition{},
		}
		for _, c := range s.Conditions {
			statement.Conditions = append(statement.Conditions, writtenCondition{c.Field, c.Op, c.value()})
		}
		w.Statements = append(w.Statements, statement)
	}
	return w
}

func (c *Condition) value() any {
	switch {
	case c.Bool != nil:
		return *c.Bool
	case c.List:
		return c.Values
	case len(c.Values) == 1:
		return c.Values[0]
	}
	return nil
}
