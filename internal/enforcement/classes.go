package enforcement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/grounding"
	"writ/internal/names"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/toolcall"
	"writ/internal/toolname"
)

// Classes say what the tools of an organization do, and what kinds some of their arguments are.
type Classes struct {
	Classes []ToolClass `json:"classes"`
	Kinds   []ToolKinds `json:"kinds,omitempty"`
}

// ToolClass is the class of the tools that the patterns name.
type ToolClass struct {
	Class grounding.Class    `json:"class"`
	Tools []document.Pattern `json:"tools"`
}

// ToolKinds are the kinds of arguments, by name, of the tools that the patterns name.
type ToolKinds struct {
	Tools     []document.Pattern        `json:"tools"`
	Arguments map[string]grounding.Kind `json:"arguments"`
}

// Limits of classes.
const (
	maxClassEntries = 200
	maxClassTools   = document.MaxTools
)

func (c Classes) check() error {
	if len(c.Classes) > maxClassEntries || len(c.Kinds) > maxClassEntries {
		return fault.Field("classes", "must be at most %d entries, and so must kinds", maxClassEntries)
	}
	for i, entry := range c.Classes {
		at := fmt.Sprintf("classes[%d]", i)
		if !entry.Class.Valid() {
			return fault.Field(at+".class", "must be read, write, egress or execute")
		}
		if err := checkPatterns(at, entry.Tools); err != nil {
			return err
		}
	}
	for i, entry := range c.Kinds {
		at := fmt.Sprintf("kinds[%d]", i)
		if err := checkPatterns(at, entry.Tools); err != nil {
			return err
		}
		if len(entry.Arguments) == 0 || len(entry.Arguments) > maxClassEntries {
			return fault.Field(at+".arguments", "must name 1 to %d arguments", maxClassEntries)
		}
		for name, kind := range entry.Arguments {
			if name == "" || !names.Valid(name) || !kind.Valid() {
				return fault.Field(at+".arguments", "must give scalar, prose or identity for names of arguments")
			}
		}
	}
	return nil
}

func checkPatterns(at string, tools []document.Pattern) error {
	if len(tools) == 0 || len(tools) > maxClassTools {
		return fault.Field(at+".tools", "must be 1 to %d patterns", maxClassTools)
	}
	for i, pattern := range tools {
		if err := pattern.Check(); err != nil {
			return fault.Field(fmt.Sprintf("%s.tools[%d]", at, i), "%s", err)
		}
	}
	return nil
}

// of is the class of a call that may have any of these names, and the kinds of its arguments. A tool about which nobody
// states anything writes.
func (c Classes) of(named []toolname.Candidate) (class grounding.Class, kinds map[string]grounding.Kind) {
	return cmp.Or(c.stated(named), grounding.Write), c.kinds(named)
}

// stated is the strictest class of the names; empty: nobody states any. A name that is certain and without a class
// writes, whatever the others do, and one that only may be meant can make the class stricter than that, but no more.
func (c Classes) stated(named []toolname.Candidate) (class grounding.Class) {
	silent := false
	for _, n := range named {
		one := c.statedFor(n.Name)
		restricts := n.Naming > toolname.Reading
		if restricts && grounding.Stricter(grounding.Write, one) == grounding.Write {
			continue
		}
		silent = silent || one == "" && n.Naming == toolname.Certain
		class = grounding.Stricter(class, one)
	}
	if silent && class != "" {
		return grounding.Stricter(class, grounding.Write)
	}
	return class
}

// statedFor is the class that the organization states of a tool, the strictest of several, else that of a known
// harness's tool.
func (c Classes) statedFor(n toolname.Name) (class grounding.Class) {
	for _, entry := range c.Classes {
		isStrict := grounding.Stricter(grounding.Write, entry.Class) != grounding.Write
		if matchesAny(entry.Tools, n) || isStrict && matchesAny(entry.Tools, cut(n)) {
			class = grounding.Stricter(class, entry.Class)
		}
	}
	return cmp.Or(class, grounding.BuiltinClass(n.Server, n.Tool))
}

// Explain is the class of a server's tool as decisions count it, and who says so: operator, known (the table of
// harnesses' tools) or default.
func (c Classes) Explain(server, tool string) (class grounding.Class, from string) {
	named := toolname.Candidates(tool, server, "")
	class, _ = c.of(named)
	switch stated := c.stated(named); {
	case stated == "":
		return class, "default"
	case grounding.BuiltinClass(server, tool) == stated:
		return class, "known"
	}
	return class, "operator"
}

// kinds are the kinds of a call's arguments. A name that only may be meant can only make a value an identity.
func (c Classes) kinds(named []toolname.Candidate) (kinds map[string]grounding.Kind) {
	sure := slices.ContainsFunc(named, func(n toolname.Candidate) bool { return n.Naming == toolname.Certain })
	for _, n := range named {
		restricts := n.Naming > toolname.Reading || sure && n.Naming != toolname.Certain
		for _, entry := range c.Kinds {
			restricts := restricts
			if !matchesAny(entry.Tools, n.Name) {
				if !matchesAny(entry.Tools, cut(n.Name)) {
					continue
				}
				restricts = true
			}
			if kinds == nil {
				kinds = map[string]grounding.Kind{}
			}
			for argument, kind := range entry.Arguments {
				if kinds[argument] != grounding.Identity && (!restricts || kind == grounding.Identity) {
					kinds[argument] = kind // an identity is the strictest
				}
			}
		}
	}
	return kinds
}

// StatedClass is the class of a tool that an organization states, else that of a known harness's tool; empty: neither.
func StatedClass(ctx context.Context, r database.Reader, orgID, server, tool string) (grounding.Class, error) {
	classes, err := readClasses(ctx, r, orgID)
	if err != nil {
		return "", err
	}
	return classes.stated(toolname.Candidates(tool, server, "")), nil
}

// cut is a name as patterns name it, at the first dot: acme.mail.send is of the tool mail.send of acme. A server whose
// own name has a dot is named no other way, but what is said of acme makes nothing of acme.mail harmless.
func cut(n toolname.Name) toolname.Name {
	call := toolcall.Call{Server: n.Server, Tool: n.Tool}
	n.Server, n.Tool = call.Name()
	return n
}

func matchesAny(patterns []document.Pattern, n toolname.Name) bool {
	return slices.ContainsFunc(patterns, func(p document.Pattern) bool { return p.Matches(n.Server, n.Tool) })
}

// Classes reads the classes of an organization. The API checks that the caller belongs to it.
func (s *Service) Classes(ctx context.Context, orgID string) (Classes, error) {
	return readClasses(ctx, s.db, orgID)
}

// classesAt is the cached classes, unless they are older than the version.
func (s *Service) classesAt(ctx context.Context, orgID string, at audit.Version) (Classes, error) {
	if known, ok := s.classes.get(orgID, at); ok {
		return known, nil
	}
	classes, err := readClasses(ctx, s.db, orgID)
	if err == nil {
		s.classes.put(orgID, at, classes)
	}
	return classes, err
}

// SetClasses replaces the classes of the caller's organization, for all later decisions on every replica.
func (s *Service) SetClasses(ctx context.Context, p principal.Principal, to Classes) (Classes, error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return Classes{}, fault.New(fault.Forbidden, "only a person may say what tools do")
	}
	if err := p.Require(principal.ManagePolicies); err != nil {
		return Classes{}, err
	}
	if err := to.check(); err != nil {
		return Classes{}, err
	}
	text, err := json.Marshal(to, json.Deterministic(true))
	if err != nil {
		return Classes{}, err
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO tool_classes (org_id, classes, updated_at)
			VALUES ($1, $2, $3)
			ON CONFLICT (org_id) DO UPDATE SET classes = excluded.classes, updated_at = excluded.updated_at`,
			p.OrgID, string(text), database.Micros(tx.Now()))
		if err != nil {
			return database.Wrap(err, "store the tool classes of organization %s", p.OrgID)
		}
		_, err = s.log.Append(ctx, tx, audit.Entry{
			Log:     audit.LogOf(p.OrgID),
			Action:  "enforcement.tool_classes_changed",
			Actor:   p,
			Subject: audit.Subject{Type: "organization", ID: p.OrgID},
			Payload: to,
		})
		return err
	}})
	return to, err
}

func readClasses(ctx context.Context, r database.Reader, orgID string) (c Classes, err error) {
	var text string
	err = r.QueryRow(ctx, `SELECT classes FROM tool_classes WHERE org_id = $1`, orgID).Scan(&text)
	if err = database.OrMissing(err, nil, "read the tool classes of organization %s", orgID); err != nil || text == "" {
		return Classes{}, err
	}
	err = json.Unmarshal([]byte(text), &c)
	return c, database.Wrap(err, "read the tool classes of organization %s", orgID)
}
