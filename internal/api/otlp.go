package api

import (
	"mime"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/otlp"
	"writ/internal/principal"
	"writ/internal/telemetry"
)

// otlpPath is fixed by OTLP: exporters add it to the address they are given. It is
// the only path with a version.
const otlpPath = "/v1/traces"

func (a *API) mountOTLP() {
	raw[TracesRequestBody, TracesResponseBody](a, Route{
		Method: http.MethodPost, Path: otlpPath, Tag: "observability",
		Summary: "Ingest spans of OpenTelemetry (OTLP), as protobuf or JSON",
		Mode:    Key, Scope: principal.Ingest, Audit: notRecorded,
	}.WritesErrors(writeOTLPError), a.ingestOTLP)
	op := a.router.OpenAPI().Paths[otlpPath].Post
	binary := func() *huma.MediaType {
		return &huma.MediaType{
			Schema: &huma.Schema{Type: huma.TypeString, Format: "binary", Description: "The same message in protobuf."},
		}
	}
	op.RequestBody.Content[otlp.Protobuf.ContentType()] = binary()
	op.Responses[strconv.Itoa(http.StatusOK)].Content[otlp.Protobuf.ContentType()] = binary()
}

// TracesRequestBody is what exporters send, as far as a reader of the document needs
// it: https://opentelemetry.io/docs/specs/otlp is the authority. It is read by hand.
type TracesRequestBody struct {
	ResourceSpans []ResourceSpansBody `json:"resourceSpans,omitempty" doc:"Spans, by the process that sent them."`
}

// ResourceSpansBody is the spans of one process.
type ResourceSpansBody struct {
	Resource   map[string]any   `json:"resource,omitempty" doc:"The process; its attribute service.name becomes the product."`
	ScopeSpans []map[string]any `json:"scopeSpans,omitempty" doc:"Its spans, by the library that made them."`
}

// TracesResponseBody is the answer to exporters.
type TracesResponseBody struct {
	PartialSuccess *PartialSuccessBody `json:"partialSuccess,omitempty" doc:"Only where spans were not taken."`
}

// PartialSuccessBody says how many spans were not taken.
type PartialSuccessBody struct {
	RejectedSpans string `json:"rejectedSpans" doc:"How many; the others are stored." example:"3"`
	ErrorMessage  string `json:"errorMessage" doc:"Why the first was not taken." example:"spanId: must be 8 bytes, not all zero"`
}

// product of what names none itself.
const otlpProduct = "opentelemetry"

func (a *API) ingestOTLP(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	if caller.OrgID == "" {
		return noOrganization()
	}
	encoding, err := otlpEncoding(r)
	if err != nil {
		return err
	}
	body, release, err := a.bodies.Read(r, a.MaxIngestBytes)
	defer release()
	if err != nil {
		return err
	}
	reading, err := otlp.Read(r.Context(), body, encoding, otlp.Options{
		Product: productOf(caller, otlpProduct), ProductWins: caller.Product != "", Prices: a.Telemetry.Prices(),
		MaxBytes: a.MaxIngestBytes,
	})
	if err != nil {
		return err
	}
	added, err := a.Telemetry.AddFragments(r.Context(), caller.OrgID, reading.Fragments)
	if err != nil {
		return err
	}
	refused, reason := refusedSpans(reading, added)
	answer, err := otlp.Answer(encoding, refused, reason)
	if err != nil {
		return err
	}
	writeFile(w, encoding.ContentType(), answer)
	return nil
}

// refusedSpans is how many spans were not taken, and why the first was not. Those
// that were known already are taken: sending again is how exporters make sure.
func refusedSpans(reading otlp.Reading, added telemetry.Added) (refused int, reason string) {
	refused, reason = reading.Refused, reading.Reason
	for _, more := range []struct {
		spans int
		why   string
	}{
		{added.Closed, "traceId: this trace does not grow: it was sent another way, or is older than what is kept"},
		{added.Full, "traceId: this trace has as many spans as one may have"},
	} {
		if refused += more.spans; more.spans > 0 && reason == "" {
			reason = more.why
		}
	}
	return refused, reason
}

// otlpEncoding is how the request is encoded, and the answer will be.
func otlpEncoding(r *http.Request) (otlp.Encoding, error) {
	for _, e := range []otlp.Encoding{otlp.Protobuf, otlp.JSON} {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == e.ContentType() {
			return e, nil
		}
	}
	return 0, fault.New(fault.Invalid, "Content-Type: must be %s or %s", otlp.Protobuf.ContentType(),
		otlp.JSON.ContentType())
}

// writeOTLPError answers in the caller's encoding. In JSON the one shape of errors
// is what OTLP wants: an object with a message.
func writeOTLPError(w http.ResponseWriter, r *http.Request, failure *route.Failure) {
	if encoding, err := otlpEncoding(r); err != nil || encoding == otlp.JSON {
		failure.Write(w)
		return
	}
	failure.WriteHead(w, otlp.Protobuf.ContentType())
	_, _ = w.Write(otlp.Status(failure.Message)) // a client that is gone cannot be told
}
