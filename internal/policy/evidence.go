package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
)

// The log knows the digest of every version's text, and which version is active. What is
// stored beside it is compared with that before calls are judged by it: whoever can write
// to the database can change a text with its digest, but cannot change the log unseen.

// statement is what an entry says of a version.
type statement struct {
	version int
	digest  string // empty: it says nothing of the text
	erased  bool   // what it said is gone
}

// stated reads what an entry about a policy says. Older ones say it in their payload.
func stated(entry *audit.Stored) (statement, error) {
	record, err := entry.Parse()
	if err != nil {
		return statement{}, err
	}
	if record.Version != 0 {
		return statement{version: record.Version, digest: record.Digest}, nil
	}
	if entry.Payload == "" {
		return statement{erased: record.Payload != ""}, nil
	}
	var about recorded
	if err := json.Unmarshal([]byte(entry.Payload), &about); err != nil {
		return statement{}, fmt.Errorf("entry %d: %w", entry.Index, err)
	}
	return statement{version: about.Version, digest: about.Digest}, nil
}

var (
	errNotInLog   = errors.New("the audit log does not know its text")
	errOtherText  = errors.New("its text is not the one that the audit log tells of")
	errNotActive  = errors.New("the audit log does not say that it was activated")
	errOtherState = errors.New("the audit log says that another version is active")
)

func policySubject(policyID string) audit.Subject { return audit.Subject{Type: "policy", ID: policyID} }

// proveVersion refuses a version whose text is not the one that the log tells of. Where
// what the log said was erased, by the log's own word, nobody can tell.
func proveVersion(ctx context.Context, log *audit.Evidence, v Version) error {
	proved, erased := false, false
	err := log.LatestAbout(ctx, policySubject(v.PolicyID), func(entry *audit.Stored) (bool, error) {
		said, err := stated(entry)
		if err != nil || said.erased && erased || !said.erased && (said.version != v.Number || said.digest == "") {
			return false, err
		}
		record, err := log.Prove(entry)
		switch {
		case err != nil:
			return false, err
		case said.erased:
			erased, err = log.IsErased(ctx, &record)
			return false, err
		case said.digest != v.Source.digest():
			return false, errOtherText
		}
		proved = true
		return true, nil
	})
	if err == nil && !proved && !erased {
		err = errNotInLog
	}
	return broken(v.PolicyID, v.Number, err)
}

// broken is a contradiction to the log as the error of a version that cannot be used. An
// error of reading stays as it is.
func broken(policyID string, number int, err error) error {
	for _, contradiction := range []error{errNotInLog, errOtherText, errNotActive, errOtherState, audit.ErrNotProved} {
		if errors.Is(err, contradiction) {
			return &BrokenError{policyID, number, err}
		}
	}
	return err
}

// proveActive refuses an active version that the log does not say is active.
func proveActive(ctx context.Context, log *audit.Evidence, policyID string, number int) error {
	said, known, err := activeByLog(ctx, log, policyID)
	switch {
	case err != nil, !known:
	case said == 0 && number != 0:
		err = errNotActive
	case said != number:
		err = errOtherState
	}
	return broken(policyID, number, err)
}

// activeByLog is the version that the log says is active; 0: none. It is not known where
// what the log said was erased.
func activeByLog(ctx context.Context, log *audit.Evidence, policyID string) (number int, known bool, err error) {
	known = true
	err = log.LatestAbout(ctx, policySubject(policyID), func(entry *audit.Stored) (bool, error) {
		record, err := entry.Parse()
		if err != nil || !slices.Contains([]action{activated, deactivated, deleted}, action(record.Action)) {
			return false, err
		}
		if _, err := log.Prove(entry); err != nil {
			return false, err
		}
		if action(record.Action) != activated {
			return true, nil
		}
		said, err := stated(entry)
		if said.erased {
			gone, err := log.IsErased(ctx, &record)
			known = !gone
			return true, err
		}
		number = said.version
		return true, err
	})
	return number, known, err
}

// proveJudged refuses active policies that the log does not say are active. Where the log tells the digest of all of
// them, that decides.
func (s *Service) proveJudged(ctx context.Context, o *orgSet, rows []judgedRow, now judged) error {
	log, err := s.log.Evidence(ctx, audit.LogOf(o.orgID))
	if err != nil {
		return err
	}
	known, differs := proveSet(log, rows)
	if differs == nil && (known || o.set != nil && reflect.DeepEqual(now, o.judged)) {
		return nil
	}
	for _, a := range now.active { // which of them it is, if one can be named
		if err := s.checkVersion(ctx, log, o.orgID, a.ID, a.Version); err != nil {
			return err
		}
		if err := proveActive(ctx, log, a.ID, a.Version); err != nil {
			return err
		}
	}
	return differs
}

// CheckEvidence compares an organization's policies with its log: which version is active,
// and the texts of active versions and shadows, or with all those of every version.
func (s *Service) CheckEvidence(
	ctx context.Context, orgID string, all bool, found func(policyID string, version int, problem string),
) error {
	log, err := s.log.Evidence(ctx, audit.LogOf(orgID))
	if err != nil {
		return err
	}
	policies, err := database.Collect(ctx, s.db, scanPolicy, `
		SELECT `+columns+`
		FROM policy p
		WHERE p.org_id = $1
		ORDER BY p.id`, orgID)
	if err != nil {
		return fmt.Errorf("read the policies: %w", err)
	}
	report := func(id string, number int, err error) error {
		if b, ok := errors.AsType[*BrokenError](err); ok {
			found(id, number, b.Cause.Error())
			return nil
		}
		return err
	}
	if err := report("", 0, s.checkSet(ctx, orgID)); err != nil {
		return err
	}
	for _, p := range policies {
		if err := report(p.ID, p.ActiveVersion, s.proveStill(ctx, log, p)); err != nil {
			return err
		}
		for _, number := range checkedVersions(p, all) {
			err := s.checkVersion(ctx, log, orgID, p.ID, number)
			if err := report(p.ID, number, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSet compares the active policies with the digest that the log tells, as readJudged does.
func (s *Service) checkSet(ctx context.Context, orgID string) (err error) {
	for range judgedTries {
		rows, again := selectJudged(ctx, s.db, orgID)
		if again != nil {
			return again
		}
		log, again := s.log.Evidence(ctx, audit.LogOf(orgID))
		if again != nil {
			return again
		}
		if _, err = proveSet(log, rows); err == nil {
			return nil
		}
	}
	return err
}

// proveStill is proveActive for a policy that may have changed since it was read.
func (s *Service) proveStill(ctx context.Context, log *audit.Evidence, p Policy) error {
	err := proveActive(ctx, log, p.ID, p.ActiveVersion)
	if err == nil {
		return nil
	}
	now, again := s.log.Evidence(ctx, audit.LogOf(p.OrgID))
	if again != nil {
		return again
	}
	var active int
	again = s.db.QueryRow(ctx, `SELECT COALESCE(active_version, 0) FROM policy WHERE org_id = $1 AND id = $2`, p.OrgID,
		p.ID).Scan(&active)
	if again != nil || active == p.ActiveVersion {
		return errors.Join(again, err)
	}
	return proveActive(ctx, now, p.ID, active)
}

// checkedVersions are those of a policy that a check reads.
func checkedVersions(p Policy, all bool) (numbers []int) {
	if !all {
		for _, number := range []int{p.ActiveVersion, p.ShadowVersion} {
			if number != 0 {
				numbers = append(numbers, number)
			}
		}
		return numbers
	}
	for number := range p.LatestVersion {
		numbers = append(numbers, number+1)
	}
	return numbers
}

func (s *Service) checkVersion(
	ctx context.Context, log *audit.Evidence, orgID, policyID string, number int,
) error {
	v, err := s.storedVersion(ctx, orgID, part{policyID, number})
	if err != nil {
		return err
	}
	if _, err := v.Source.Document(); err != nil { // its format was changed: the digest is of the text
		return &BrokenError{policyID, number, err}
	}
	return proveVersion(ctx, log, v)
}
