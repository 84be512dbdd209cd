package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/fault"
	"writ/internal/principal"
)

// CheckpointBody is a signed checkpoint.
type CheckpointBody struct {
	Checkpoint string `json:"checkpoint" doc:"As it is signed, c2sp.org/tlog-checkpoint. Keep it: with it, a log that was rewritten, cut or forked since is found out."`
}

type checkpointOutput struct{ Body CheckpointBody }

func (a *API) getCheckpoint(
	ctx context.Context, caller principal.Principal, _ *OrganizationQuery,
) (*checkpointOutput, error) {
	text, err := a.Audit.Checkpoint(ctx, caller.OrgID)
	return &checkpointOutput{CheckpointBody{text}}, err
}

// CheckpointKeysBody are the keys of checkpoints.
type CheckpointKeysBody struct {
	Key  string   `json:"key" doc:"The one that signs now, as a note verifier (golang.org/x/mod/sumdb/note)."`
	Keys []string `json:"keys" nullable:"false" doc:"All there ever were, newest first: an old checkpoint is signed with an old key."`
}

type checkpointKeysOutput struct{ Body CheckpointKeysBody }

func (a *API) getCheckpointKeys(
	ctx context.Context, _ principal.Principal, _ *OrganizationQuery,
) (*checkpointKeysOutput, error) {
	keys, err := a.CheckpointKeys(ctx)
	return &checkpointKeysOutput{CheckpointKeysBody{a.Audit.PublicKey(), keys}}, err
}

// LogProofBody is a proof.
type LogProofBody struct {
	Size  int64         `json:"size" doc:"Of the log the proof is about."`
	Proof []ledger.Hash `json:"proof" nullable:"false" doc:"Hashes in base64, as in RFC 6962 section 2.1."`
}

type logProofOutput struct{ Body LogProofBody }

func logProof(size int64, hashes []ledger.Hash, err error) (*logProofOutput, error) {
	if hashes == nil {
		hashes = []ledger.Hash{}
	}
	return &logProofOutput{LogProofBody{size, hashes}}, err
}

type inclusionInput struct {
	OrganizationQuery
	Index int64 `query:"index" required:"true" minimum:"0" doc:"Number of the entry, from 0."`
	Size  int64 `query:"size" required:"true" minimum:"1" doc:"Of the log, as a checkpoint names it."`
}

func (a *API) getInclusion(
	ctx context.Context, caller principal.Principal, in *inclusionInput,
) (*logProofOutput, error) {
	hashes, err := a.Audit.InclusionProof(ctx, caller.OrgID, in.Index, in.Size)
	return logProof(in.Size, hashes, err)
}

type consistencyInput struct {
	OrganizationQuery
	From int64 `query:"from" required:"true" minimum:"0" doc:"Size of the earlier log."`
	Size int64 `query:"size" required:"true" minimum:"1" doc:"Of the later one."`
}

func (a *API) getConsistency(
	ctx context.Context, caller principal.Principal, in *consistencyInput,
) (*logProofOutput, error) {
	hashes, err := a.Audit.ConsistencyProof(ctx, caller.OrgID, in.From, in.Size)
	return logProof(in.Size, hashes, err)
}

// mountExport serves a log of any size: written as it is read, by hand.
func (a *API) mountExport(rt Route) {
	r := a.router.Tagged(auditTag)
	r.Serve(rt, a.exportLog)
	text := &huma.Schema{Type: huma.TypeString}
	r.Document(rt, huma.Operation{
		Parameters: []*huma.Param{
			{
				Name:        route.OrganizationParameter,
				In:          "query",
				Description: "The organization. Absent: the only one of the caller.",
				Schema:      text,
			},
			{
				Name:        "since",
				In:          "query",
				Description: "The first entry; hashes stand for what is before.",
				Schema:      &huma.Schema{Type: huma.TypeInteger},
			},
		},
		Responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: map[string]*huma.MediaType{ndjson: {Schema: text}}},
		},
	})
}

func (a *API) exportLog(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	o := audit.ExportOptions{WithoutPayloads: !caller.May(principal.ReadPayloads)}
	if since := r.URL.Query().Get("since"); since != "" {
		n, err := strconv.ParseInt(since, 10, 64)
		if err != nil {
			return fault.Field("since", "must be a whole number")
		}
		o.Since = n
	}
	out := &stream{w: w, controller: http.NewResponseController(w)}
	if err := takeTime(out.controller); err != nil {
		return err
	}
	err := a.Audit.Export(r.Context(), out, caller.OrgID, o)
	if err != nil && out.begun {
		// The answer has begun: it ends short, which a verifier notices.
		a.Logger.WarnContext(r.Context(), "an export ended early", "requestId", requestOf(r.Context()).ID, "error", err)
		return nil
	}
	return err
}

// stream is an answer that is written in parts.
type stream struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	begun      bool
}

func (s *stream) Write(part []byte) (int, error) {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", ndjson)
		s.w.Header().Set("Content-Disposition", `attachment; filename="audit.ndjson"`)
	}
	if err := s.controller.SetWriteDeadline(time.Now().Add(partTimeout)); err != nil {
		return 0, err
	}
	n, err := s.w.Write(part)
	if err != nil {
		return n, err
	}
	return n, s.controller.Flush()
}
