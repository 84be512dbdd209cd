package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Definitions are the tools that a person has accepted of an approved server.
type Definitions struct {
	ServerID string
	Hash     string // of the names and hashes of those tools
	// Problem is why the hash says nothing about what the server offers; empty: it does.
	Problem string
}

// DefinitionsOf reads the pinned tools of an approved server. It checks no right: whoever certifies servers asks.
func DefinitionsOf(ctx context.Context, r database.Reader, orgID, id string) (Definitions, error) {
	of, err := find(ctx, r, orgID, id)
	if err != nil {
		return Definitions{}, err
	}
	if of.Status != Approved {
		return Definitions{}, fault.New(fault.Conflict, "the MCP server is not approved")
	}
	d := Definitions{ServerID: of.ID}
	tools, err := readTools(ctx, r, of.ID)
	if err != nil {
		return Definitions{}, err
	}
	if d.Hash, err = hashPinned(tools); err != nil {
		return Definitions{}, err
	}
	switch {
	case !of.Pinned:
		d.Problem = "nobody knows them yet: the server has not answered"
	case of.Health.Unreadable:
		d.Problem = "the server answers, and nobody can tell what it offers"
	default:
		for i := range tools {
			if why := tools[i].Why(); why != "" {
				d.Problem = why + " (" + tools[i].Name + ")"
				break
			}
		}
	}
	return d, nil
}

// hashPinned is the hash of what a person has accepted, by the names of the tools.
func hashPinned(tools []Tool) (string, error) {
	type pin struct {
		Name string `json:"name"`
		Hash string `json:"hash"`
	}
	pinned := []pin{}
	for i := range tools {
		if hash := tools[i].Accepted.Hash; hash != "" {
			pinned = append(pinned, pin{tools[i].Name, hash})
		}
	}
	// Databases order names each in their own way.
	slices.SortFunc(pinned, func(a, b pin) int { return strings.Compare(a.Name, b.Name) })
	raw, err := json.Marshal(pinned)
	if err != nil {
		return "", err
	}
	text, err := canonical.Transform(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func (s *Service) redefined(ctx context.Context, tx *database.Tx, by principal.Principal, of *Server) error {
	if s.Redefined == nil {
		return nil
	}
	return s.Redefined(ctx, tx, by, of.OrgID, of.ID)
}

func (s *Service) refused(
	ctx context.Context, tx *database.Tx, by principal.Principal, of *Server, why string,
) error {
	if s.Refused == nil {
		return nil
	}
	return s.Refused(ctx, tx, by, of.OrgID, of.ID, why)
}
