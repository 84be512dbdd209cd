package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"writ/internal/audit"
	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/fault"
)

// activeForm is an active policy as the digest of all of them sees it.
type activeForm struct {
	ID      string      `json:"id"`
	Version int         `json:"version"`
	Digest  string      `json:"digest"`
	Bound   [][2]string `json:"bound"` // kind and subject, sorted
}

// activeDigest is the digest of the active policies of an organization: which versions of which texts, and whom they
// are for. The rows are in the order of selectJudged.
func activeDigest(rows []judgedRow) (string, error) {
	all := []activeForm{}
	for _, row := range rows {
		if row.version == 0 {
			continue
		}
		if n := len(all); n == 0 || all[n-1].ID != row.id {
			all = append(all, activeForm{row.id, row.version, row.digest, [][2]string{}})
		}
		if last := &all[len(all)-1]; row.kind != "" {
			last.Bound = append(last.Bound, [2]string{row.kind, row.subject})
		}
	}
	slices.SortFunc(all, func(a, b activeForm) int { return strings.Compare(a.ID, b.ID) })
	for _, a := range all {
		slices.SortFunc(a.Bound, func(x, y [2]string) int {
			return cmp.Or(strings.Compare(x[0], y[0]), strings.Compare(x[1], y[1]))
		})
	}
	text, err := canonical.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("digest of the active policies: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func readActiveDigest(ctx context.Context, r database.Reader, orgID string) (string, error) {
	rows, err := selectJudged(ctx, r, orgID)
	if err != nil {
		return "", err
	}
	return activeDigest(rows)
}

var errOtherSet = errors.New("the active policies are not those that the audit log tells of")

// proveSet refuses active policies that are not those the log tells of. Known is false where the log, begun by an older
// server, does not tell.
func proveSet(log *audit.Evidence, rows []judgedRow) (known bool, err error) {
	want, err := log.Policies()
	if err != nil || want == "" {
		return false, err
	}
	digest, err := activeDigest(rows)
	if err == nil && digest != want {
		err = &BrokenError{Cause: errOtherSet}
	}
	return true, err
}

// requireProved refuses a change by a key to policies that are not those the log tells of: it would be recorded as
// what is active. A person who activates or deactivates a policy has it recorded.
func (s *Service) requireProved(ctx context.Context, tx *database.Tx, orgID string) error {
	rows, err := selectJudged(ctx, tx, orgID)
	if err != nil {
		return err
	}
	log, err := s.log.EvidenceIn(ctx, tx, audit.LogOf(orgID))
	if err != nil {
		return err
	}
	if _, err = proveSet(log, rows); err != nil {
		return fault.Wrap(err, fault.Conflict, "the stored policies are not those that the audit log tells of: "+
			"a person must activate them again, or the operator restore a backup")
	}
	return nil
}
