package approval

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"writ/internal/arguments"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// edit is a call's arguments as an approver wants them.
type edit struct {
	text   string // canonical JSON
	digest []byte
}

// readEdit reads the arguments that an approver changed, before the transaction.
func (s *Service) readEdit(ctx context.Context, p principal.Principal, given Approval) (edit, error) {
	if given.Arguments == nil {
		return edit{}, nil
	}
	if !given.Scope.once() {
		return edit{}, fault.Field("arguments", "can be changed only with the scope once")
	}
	if p.Kind != principal.User || p.OrgID == "" {
		return edit{}, fault.New(fault.Forbidden, "only a person may answer a request for approval")
	}
	args, err := arguments.Read(given.Arguments)
	if err != nil {
		return edit{}, fault.Field("arguments", "%s", err)
	}
	if args.Incomplete {
		return edit{}, fault.Field("arguments",
			"hold what looks like a secret, or are too long to send to the agent")
	}
	text := args.Canonical.Text()
	digest, err := s.digest(ctx, p.OrgID, text)
	return edit{text, digest}, err
}

func (s *Service) digest(ctx context.Context, orgID, text string) ([]byte, error) {
	if s.sources.Digest == nil {
		return nil, errors.New("make a digest of arguments: nothing here can")
	}
	digest, err := s.sources.Digest(ctx, orgID, text)
	if err == nil && len(digest) == 0 {
		err = errors.New("it is empty")
	}
	return digest, database.Wrap(err, "make a digest of arguments")
}

// agree takes over what an approver permits. Later approvers must permit the same as the
// first: otherwise it would be unclear what they permit together.
func (r *Request) agree(scope Scope, e edit) error {
	if err := scope.check(r); err != nil {
		return err
	}
	if e.digest != nil && len(r.Digest) == 0 {
		return fault.Field("arguments", "the request was made without arguments")
	}
	if bytes.Equal(e.digest, r.Digest) {
		e = edit{} // nothing was changed
	}
	text, err := scope.text()
	if err != nil {
		return fmt.Errorf("read what an approval permits: %w", err)
	}
	if r.scopeText != "" && (r.scopeText != text || !bytes.Equal(r.editedDigest, e.digest)) {
		return fault.New(fault.Conflict,
			"another approver permitted something else (scope %s, changed arguments: %t): read the request, then permit the same or reject",
			r.Scope.Kind, len(r.editedDigest) > 0)
	}
	r.scopeText, r.Scope, r.Edited, r.editedDigest = text, scope.complete(), e.text, e.digest
	return nil
}
