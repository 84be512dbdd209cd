package traces

import (
	"cmp"
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

// mountOTLP serves the one path that has a version: OTLP fixes it, and exporters add it to the address they are given.
func (h *Handlers) mountOTLP(r *route.Router) {
	rt := route.Post("/v1/traces", "Ingest spans of OpenTelemetry (OTLP), as protobuf or JSON").
		For(route.Key).Scoped(principal.Ingest).Unrecorded().MayAskForPayment().
		WritesErrors(writeOTLPError)
	route.Raw[TracesRequestBody, TracesResponseBody](r, rt, h.ingestOTLP)
	protobuf := &huma.MediaType{
		Schema: &huma.Schema{Type: huma.TypeString, Format: "binary", Description: "The same message in protobuf."},
	}
	op := r.OpenAPI().Paths[rt.Path].Post
	op.RequestBody.Content[otlp.Protobuf.ContentType()] = protobuf
	op.Responses[strconv.Itoa(http.StatusOK)].Content[otlp.Protobuf.ContentType()] = protobuf
}

// TracesRequestBody is what exporters send, as far as a reader of the document needs it; the specification is at
// https://opentelemetry.io/docs/specs/otlp. It is read by hand.
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
	PartialSuccess *PartialSuccessBody `json:"partialSuccess,omitempty" doc:"Only where spans were refused."`
}

// PartialSuccessBody says how many spans were refused.
type PartialSuccessBody struct {
	RejectedSpans string `json:"rejectedSpans" doc:"How many; the others are stored." example:"3"`
	ErrorMessage  string `json:"errorMessage" doc:"Why the first was refused." example:"spanId: must be 8 bytes, not all zero"`
}

// otlpProduct is the product of spans that name none.
const otlpProduct = "opentelemetry"

func (h *Handlers) ingestOTLP(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	if caller.OrgID == "" {
		return route.NoOrganization()
	}
	encoding, err := otlpEncoding(r)
	if err != nil {
		return err
	}
	body, err := h.Bodies.Open(r, h.MaxIngestBytes)
	defer body.Release()
	if err != nil {
		return err
	}
	reading, err := otlp.Read(r.Context(), body.Bytes, encoding, otlp.Options{
		Product:     cmp.Or(caller.Product, otlpProduct),
		ProductWins: caller.Product != "",
		Prices:      h.Telemetry.Prices(),
		MaxBytes:    h.MaxIngestBytes,
		Take:        func(n int64) error { return body.Take(decodedCopies * n) },
	})
	if err != nil {
		return err
	}
	added, err := h.Telemetry.AddFragments(r.Context(), caller.OrgID, reading.Fragments)
	if err != nil {
		return err
	}
	refused, reason := refusedSpans(reading, added)
	answer, err := otlp.Answer(encoding, refused, reason)
	if err != nil {
		return err
	}
	route.WriteFile(w, encoding.ContentType(), answer)
	return nil
}

// refusedSpans is how many spans were refused, and why the first was. Spans that are stored already are not refused:
// exporters send again to make sure.
func refusedSpans(reading otlp.Reading, added telemetry.Added) (refused int, reason string) {
	reason = reading.Reason
	if added.Closed > 0 {
		reason = cmp.Or(reason,
			"traceId: this trace does not grow: it was sent another way, or is older than what is kept")
	}
	if added.Full > 0 {
		reason = cmp.Or(reason, "traceId: this trace has as many spans as one may have")
	}
	return reading.Refused + added.Closed + added.Full, reason
}

// otlpEncoding is the encoding of the request, and of its answer.
func otlpEncoding(r *http.Request) (otlp.Encoding, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	for _, e := range []otlp.Encoding{otlp.Protobuf, otlp.JSON} {
		if err == nil && kind == e.ContentType() {
			return e, nil
		}
	}
	return 0, fault.New(fault.Invalid, "Content-Type: must be %s or %s", otlp.Protobuf.ContentType(),
		otlp.JSON.ContentType())
}

// writeOTLPError answers in the encoding of the request. In JSON the usual shape of errors is what OTLP wants: an
// object with a message.
func writeOTLPError(w http.ResponseWriter, r *http.Request, failure *route.Failure) {
	if encoding, err := otlpEncoding(r); err != nil || encoding == otlp.JSON {
		failure.Write(w)
		return
	}
	failure.WriteHead(w, otlp.Protobuf.ContentType())
	_, _ = w.Write(otlp.Status(failure.Message)) // a client that is gone cannot be told
}
