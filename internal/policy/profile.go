package policy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/policy/profile"
	"writ/internal/principal"
)

// A profile takes three steps. A member or key that may draft stages it, one for each
// person (a key acts for its owner), and then proposes it. A person who manages
// policies reads it and confirms it by its hash:
//
//	StageProfile ──> draft ──Propose──> open ──Confirm──> confirmed, and active
//	                                    open ──Propose again──> superseded
//	                                    open ──Withdraw──> withdrawn
//
// Confirming replaces the active profile, whoever proposed that. To go back, an
// earlier proposal is confirmed again.

// ProposalState is the state of a proposal.
type ProposalState string

// The states of a proposal.
const (
	Open       ProposalState = "open"       // waits for a person
	Superseded ProposalState = "superseded" // its proposer proposed another one
	Withdrawn  ProposalState = "withdrawn"
	Confirmed  ProposalState = "confirmed" // was activated, and is active unless replaced
)

// Valid reports whether this is one of the states.
func (s ProposalState) Valid() bool {
	return s == Open || s == Superseded || s == Withdrawn || s == Confirmed
}

// StagedProfile is a profile as it is stored.
type StagedProfile struct {
	Name string
	Text string // canonical JSON
	Hash string // hex SHA-256 of it
}

// Read parses the profile again. An error means that the stored text was damaged.
func (s StagedProfile) Read() (*profile.Profile, error) {
	if profile.Hash([]byte(s.Text)) != s.Hash {
		return nil, errors.New("the text of a profile is not the one that was stored")
	}
	read, problems := profile.Parse([]byte(s.Text))
	if problems != nil {
		return nil, fmt.Errorf("the stored profile is not valid: %s: %s", problems[0].Field, problems[0].Message)
	}
	return read, nil
}

// Proposal is a profile that was proposed for activation.
type Proposal struct {
	StagedProfile
	ID           string
	PolicyID     string
	Version      int // of the policy
	OwnerID      string
	Author       Author
	Reason       string
	State        ProposalState
	ProposedAt   time.Time
	DecidedBy    string
	DecidedAt    *time.Time
	Confirmation int  // number among the organization's confirmations; 0: none yet
	Active       bool // calls are judged by it now
}

// MaxReason is how long the reason of a proposal may be, in bytes.
const MaxReason = 2_000

// profileName is the name of the policy of a person's proposals. It does not reveal the person to readers of policies.
func profileName(name, ownerID string) string {
	sum := sha256.Sum256([]byte(ownerID))
	return fmt.Sprintf("profile %s (%x)", name, sum[:4])
}

// StageProfile stores a profile for its owner to propose, and replaces the one staged before. It checks the profile as
// ProposeProfile does.
func (s *Service) StageProfile(
	ctx context.Context, p principal.Principal, read *profile.Profile,
) (StagedProfile, error) {
	if err := requireProposer(p); err != nil {
		return StagedProfile{}, err
	}
	if _, err := s.compileProfile(ctx, p, read); err != nil {
		return StagedProfile{}, err
	}
	form, err := read.Form()
	if err != nil {
		return StagedProfile{}, err
	}
	staged := StagedProfile{Name: read.Name, Text: string(form), Hash: profile.Hash(form)}
	err = s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		return storeDraft(ctx, tx, p, staged)
	}})
	return staged, err
}

// compileProfile compiles the policy of a profile.
func (s *Service) compileProfile(ctx context.Context, p principal.Principal, read *profile.Profile) (compiled, error) {
	doc, problems := read.Document(profileName(read.Name, p.UserID), p.OrgID)
	if problems != nil {
		return compiled{}, ProfileFault(problems)
	}
	c, err := s.compiler.read(ctx, Source{Text: string(document.Render(doc)), Format: document.YAML})
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		return compiled{}, ProfileFault(inStatements(f))
	}
	return c, err
}

// inStatements turns the problems of rules into problems of the statements they were made from.
func inStatements(f *fault.Error) []profile.Problem {
	var problems []profile.Problem
	for _, d := range f.Details {
		var rule int
		if _, err := fmt.Sscanf(d.Field, "rules[%d]", &rule); err != nil {
			problems = append(problems, profile.Problem{Field: "policy", Message: d.Message})
			continue
		}
		_, message, _ := strings.Cut(d.Message, ": ")
		problems = append(problems, profile.Problem{
			Field: profile.StatementPath(rule), Message: "cannot be judged: " + message,
		})
	}
	return problems
}

// ProfileFault is the problems of a profile as a fault.
func ProfileFault(problems []profile.Problem) error {
	details := make([]fault.Detail, len(problems))
	for i, p := range problems {
		details[i] = fault.Detail(p)
	}
	return fault.Fields(details...)
}

// ActiveProfile is the active profile, or nil.
func (s *Service) ActiveProfile(ctx context.Context, p principal.Principal) (*Proposal, error) {
	if p.Kind == principal.Key {
		if p.OrgID == "" || !p.HasScope(principal.Enforce) && !p.HasScope(principal.ProposeProfile) {
			return nil, fault.New(fault.Forbidden, "this API key may not read the profile of an organization")
		}
	} else if err := inOrganization(p, principal.ReadPolicies); err != nil {
		return nil, err
	}
	return findActiveProfile(ctx, s.db, p.OrgID)
}

// Proposal is a proposal of the organization.
func (s *Service) Proposal(ctx context.Context, p principal.Principal, id string) (Proposal, error) {
	if err := requireReader(p); err != nil {
		return Proposal{}, err
	}
	return findProposal(ctx, s.db, p.OrgID, id)
}
