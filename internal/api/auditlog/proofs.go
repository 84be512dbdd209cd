package auditlog

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/audit/ledger"
	"writ/internal/principal"
)

func (h *Handlers) mountProofs(r *route.Router) {
	route.Handle(r, read(route.Get("/audit-log/checkpoint", "The signed checkpoint of the log as it is now")),
		h.getCheckpoint)
	route.Handle(r, read(route.Get("/audit-log/key", "The public keys that checkpoints are verified with")),
		h.getCheckpointKeys)
	route.Handle(r, read(route.Get("/audit-log/proof/inclusion",
		"The proof that an entry is in the log of so many entries")), h.getInclusion)
	route.Handle(r, read(route.Get("/audit-log/proof/consistency",
		"The proof that the log of so many entries begins with an earlier one")), h.getConsistency)
}

// CheckpointBody is a signed checkpoint.
type CheckpointBody struct {
	Checkpoint string `json:"checkpoint" doc:"As it is signed, c2sp.org/tlog-checkpoint. Keep it: with it, a log that was rewritten, cut or forked since is found out."`
}

func (h *Handlers) getCheckpoint(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (CheckpointBody, error) {
	text, err := h.Audit.Checkpoint(ctx, caller.OrgID)
	return CheckpointBody{text}, err
}

// CheckpointKeysBody are the keys of checkpoints.
type CheckpointKeysBody struct {
	Key  string   `json:"key" doc:"The one that signs now, as a note verifier (golang.org/x/mod/sumdb/note)."`
	Keys []string `json:"keys" nullable:"false" doc:"All there ever were, newest first: an old checkpoint is signed with an old key."`
}

func (h *Handlers) getCheckpointKeys(
	ctx context.Context, _ principal.Principal, _ *route.OrganizationQuery,
) (CheckpointKeysBody, error) {
	keys, err := h.CheckpointKeys(ctx)
	return CheckpointKeysBody{h.Audit.PublicKey(), keys}, err
}

// LogProofBody is a proof.
type LogProofBody struct {
	Size  int64         `json:"size" doc:"Of the log the proof is about."`
	Proof []ledger.Hash `json:"proof" nullable:"false" doc:"Hashes in base64, as in RFC 6962 section 2.1."`
}

func logProof(size int64, hashes []ledger.Hash, err error) (LogProofBody, error) {
	return LogProofBody{size, hashes}, err
}

type inclusionInput struct {
	route.OrganizationQuery
	Index int64 `query:"index" required:"true" minimum:"0" doc:"Number of the entry, from 0."`
	Size  int64 `query:"size" required:"true" minimum:"1" doc:"Of the log, as a checkpoint names it."`
}

func (h *Handlers) getInclusion(
	ctx context.Context, caller principal.Principal, in *inclusionInput,
) (LogProofBody, error) {
	hashes, err := h.Audit.InclusionProof(ctx, caller.OrgID, in.Index, in.Size)
	return logProof(in.Size, hashes, err)
}

type consistencyInput struct {
	route.OrganizationQuery
	From int64 `query:"from" required:"true" minimum:"0" doc:"Size of the earlier log."`
	Size int64 `query:"size" required:"true" minimum:"1" doc:"Of the later one."`
}

func (h *Handlers) getConsistency(
	ctx context.Context, caller principal.Principal, in *consistencyInput,
) (LogProofBody, error) {
	hashes, err := h.Audit.ConsistencyProof(ctx, caller.OrgID, in.From, in.Size)
	return logProof(in.Size, hashes, err)
}
