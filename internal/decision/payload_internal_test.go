package decision

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"writ/internal/canonical"
	"writ/internal/verdict"
)

// stored is the form of payloads in logs that exist. It must not change.
type stored struct {
	Allow       string         `json:"allow,omitzero"`
	Approval    string         `json:"approval,omitzero"`
	Arguments   jsontext.Value `json:"arguments,omitzero"`
	Digest      string         `json:"argumentsDigest,omitzero"`
	Context     string         `json:"context,omitzero"`
	DurationUs  int64          `json:"durationUs"`
	Environment string         `json:"environment,omitzero"`
	Failed      []Failure      `json:"failed,omitempty"`
	Incomplete  bool           `json:"incomplete,omitzero"`
	Labels      []string       `json:"labels,omitempty"`
	Message     string         `json:"message,omitzero"`
	PlacedOn    string         `json:"placedOn,omitzero"`
	PolicyName  string         `json:"policyName,omitzero"`
	Reason      string         `json:"reason"`
	Paths       jsontext.Value `json:"resolvedPaths,omitzero"`
	Shadows     []Shadow       `json:"shadows,omitempty"`
	Source      string         `json:"source,omitzero"`
	User        string         `json:"user,omitzero"`
	Email       string         `json:"userEmail,omitzero"`
}

// TestPayloadsKeepTheirForm draws records: their payload is the stored form, byte for
// byte, whichever way it is written, and reads back as it was.
func TestPayloadsKeepTheirForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := func(of string) string { return rapid.SampledFrom([]string{"", "x", `é"\n` + "\x7f"}).Draw(rt, of) }
		object := func(of string) jsontext.Value {
			values := []jsontext.Value{nil, jsontext.Value(`{}`), jsontext.Value(`{"a":"1","b":[2]}`)}
			return rapid.SampledFrom(values).Draw(rt, of)
		}
		r := Record{
			Ruling: verdict.Ruling{PolicyName: text("policy"), Reason: text("reason"), Message: text("message")},
			Details: Details{
				StandingID:  text("allow"),
				ApprovalID:  text("approval"),
				Arguments:   object("arguments"),
				Digest:      rapid.SampledFrom([][]byte{nil, {0, 255, 16}}).Draw(rt, "digest"),
				ContextID:   text("context"),
				Duration:    time.Duration(rapid.IntRange(0, 5_000).Draw(rt, "duration")),
				Environment: text("environment"),
				Incomplete:  rapid.Bool().Draw(rt, "incomplete"),
				PlacedOn:    text("placed on"),
				Source:      text("source"),
				UserID:      text("user"),
				Email:       text("email"),
			},
		}
		if rapid.Bool().Draw(rt, "rare") {
			failed := []Failure{{Error: text("error"), Policy: "p", Rule: "r"}}
			r.Failed = failed[:rapid.IntRange(0, 1).Draw(rt, "failed")]
			r.Labels = []string{text("label")}[:rapid.IntRange(0, 1).Draw(rt, "labels")]
			r.Paths = object("paths")
			r.Shadows = []Shadow{{Active: "hold", Policy: "p", Version: 2}}[:rapid.IntRange(0, 1).Draw(rt, "shadows")]
		}
		want, err := canonical.Marshal(stored{
			Allow:       r.StandingID,
			Approval:    r.ApprovalID,
			Arguments:   r.Arguments,
			Digest:      hex.EncodeToString(r.Digest),
			Context:     r.ContextID,
			DurationUs:  r.Duration.Microseconds(),
			Environment: r.Environment,
			Failed:      r.Failed,
			Incomplete:  r.Incomplete,
			Labels:      r.Labels,
			Message:     r.Message,
			PlacedOn:    r.PlacedOn,
			PolicyName:  r.PolicyName,
			Reason:      r.Reason,
			Paths:       r.Paths,
			Shadows:     r.Shadows,
			Source:      r.Source,
			User:        r.UserID,
			Email:       r.Email,
		})
		if err != nil {
			rt.Fatal(err)
		}
		got, err := r.payload()
		if err != nil || string(got) != string(want) {
			rt.Fatalf("written as %s, %v; want %s", got, err, want)
		}
		var read Record
		if err := read.readPayload(string(got)); err != nil {
			rt.Fatal(err)
		}
		r.Duration = r.Duration.Truncate(time.Microsecond)
		if diff := cmp.Diff(r, read, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("read back: %s", diff)
		}
	})
}
