package message_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"writ/internal/forwarding/message"
)

// read decodes a request with the official types, and gives its spans.
func read(t *testing.T, about message.Attributes, spans ...*message.Span) (*trace.ResourceSpans, []*trace.Span) {
	t.Helper()
	var r message.Request
	for _, s := range spans {
		r.Add(message.Resource{Service: "billing-bot"}, s)
	}
	body, err := r.Encode("1.2", about)
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > r.Size() {
		t.Errorf("%d bytes, said to be at most %d", len(body), r.Size())
	}
	var got collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &got); err != nil {
		t.Fatalf("the official types do not read the request: %v", err)
	}
	if unknown := got.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		t.Errorf("fields that the protocol does not know: %x", unknown)
	}
	if len(got.ResourceSpans) != 1 || len(got.ResourceSpans[0].ScopeSpans) != 1 {
		t.Fatalf("got %v", &got)
	}
	return got.ResourceSpans[0], got.ResourceSpans[0].ScopeSpans[0].Spans
}

// plain is a value of the protocol as Go has it.
func plain(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_ArrayValue:
		list := []any{}
		for _, e := range v.ArrayValue.Values {
			list = append(list, plain(e))
		}
		return list
	case *common.AnyValue_KvlistValue:
		return members(v.KvlistValue.Values)
	}
	return nil
}

func members(pairs []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, p := range pairs {
		all[p.Key] = plain(p.Value)
	}
	return all
}

func some() *message.Span {
	return &message.Span{
		TraceID: [16]byte{1, 15: 9}, ID: [8]byte{2}, ParentID: [8]byte{3}, Name: "chat",
		Start: time.Unix(1_700_000_000, 5000), End: time.Unix(1_700_000_001, 0),
	}
}

func TestOfficialTypesReadWhatIsWritten(t *testing.T) {
	t.Parallel()
	var about message.Attributes
	about.String("deployment.environment.name", "sandbox")
	s := some()
	s.Failed, s.Message = true, "no"
	s.Attributes.String("gen_ai.request.model", "m-1")
	s.Attributes.Int("tokens", -7)
	s.Attributes.Double("cost", 0.25)
	s.Attributes.Bool("done", true)
	root := some()
	root.ParentID = [8]byte{}
	resource, spans := read(t, about, s, root)

	whose := members(resource.Resource.Attributes)
	if whose["service.name"] != "billing-bot" || whose["deployment.environment.name"] != "sandbox" {
		t.Errorf("resource %v", whose)
	}
	scope := resource.ScopeSpans[0].Scope
	if scope.Name != "writ" || scope.Version != "1.2" {
		t.Errorf("scope %v", scope)
	}
	if len(spans) != 2 {
		t.Fatalf("%d spans, want 2", len(spans))
	}
	got := spans[0]
	if [16]byte(got.TraceId) != s.TraceID || [8]byte(got.SpanId) != s.ID || [8]byte(got.ParentSpanId) != s.ParentID ||
		got.Name != "chat" {
		t.Errorf("identity of %v", got)
	}
	if got.StartTimeUnixNano != uint64(s.Start.UnixNano()) || got.EndTimeUnixNano != uint64(s.End.UnixNano()) ||
		got.Kind != trace.Span_SPAN_KIND_INTERNAL {
		t.Errorf("times and kind of %v", got)
	}
	if got.Status.GetCode() != trace.Status_STATUS_CODE_ERROR || got.Status.GetMessage() != "no" {
		t.Errorf("status %v", got.Status)
	}
	attributes := members(got.Attributes)
	if attributes["gen_ai.request.model"] != "m-1" || attributes["tokens"] != int64(-7) ||
		attributes["cost"] != 0.25 || attributes["done"] != true {
		t.Errorf("attributes %v", attributes)
	}
	if len(spans[1].ParentSpanId) != 0 || spans[1].Status != nil {
		t.Errorf("a root that succeeded: %v", spans[1])
	}
}

func TestServicesStandApart(t *testing.T) {
	t.Parallel()
	var r message.Request
	for _, name := range []string{"a", "b", "a"} {
		r.Add(message.Resource{Service: name}, some())
	}
	body, err := r.Encode("", message.Attributes{})
	if err != nil {
		t.Fatal(err)
	}
	var got collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	counts := map[any]int{}
	for _, service := range got.ResourceSpans {
		counts[members(service.Resource.Attributes)["service.name"]] = len(service.ScopeSpans[0].Spans)
	}
	if len(got.ResourceSpans) != 2 || counts["a"] != 2 || counts["b"] != 1 || r.Len() != 3 {
		t.Errorf("spans by service: %v, %d in all", counts, r.Len())
	}
}

func TestJSONBecomesValues(t *testing.T) {
	t.Parallel()
	s := some()
	s.Attributes.Members([]byte(`{"text":"a\u0000b","int":9007199254740993,"big":123456789012345678901234567890,"half":0.5,"yes":true,"nothing":null,
		"list":[1,"two",null,[]],"object":{"a":{"b":false},"":1},"text":"again","deep":`+strings.Repeat("[", 40)+
		strings.Repeat("]", 40)+`}`), "writ")
	_, spans := read(t, message.Attributes{}, s)
	got := members(spans[0].Attributes)
	if got["text"] != "a\x00b" || got["int"] != int64(9007199254740993) ||
		got["big"] != 123456789012345678901234567890.0 || got["half"] != 0.5 || got["yes"] != true {
		t.Errorf("scalars of %v", got)
	}
	if _, ok := got["nothing"]; ok {
		t.Error("null is sent")
	}
	list, ok := got["list"].([]any)
	if !ok || len(list) != 4 || list[0] != int64(1) || list[1] != "two" || list[2] != nil {
		t.Errorf("list %v", got["list"])
	}
	object, ok := got["object"].(map[string]any)
	if !ok || object["a"].(map[string]any)["b"] != false {
		t.Errorf("object %v", got["object"])
	}
	if deep, ok := got["deep"].(string); !ok || !strings.HasPrefix(deep, "[[") {
		t.Errorf("what is deep is %v, want text", got["deep"])
	}
}

func TestWhatReceiversRefuseIsNotWritten(t *testing.T) {
	t.Parallel()
	s := some()
	s.Name = strings.Repeat("ä", message.MaxName)
	s.Start, s.End = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1920, 1, 1, 0, 0, 0, 0, time.UTC)
	s.Attributes.String("broken", "a\xffb")
	s.Attributes.String("na\xffme", "x")
	for i := range 10 {
		s.Attributes.String(string(rune('a'+i)), strings.Repeat("ä", message.MaxValue))
	}
	s.Attributes.Double("not a number", math.NaN())
	early := some()
	early.Start, early.End = s.End, s.End
	_, spans := read(t, message.Attributes{}, s, early)
	got := spans[0]
	if len(got.Name) > message.MaxName || !utf8.ValidString(got.Name) {
		t.Errorf("a name of %d bytes", len(got.Name))
	}
	if got.StartTimeUnixNano != math.MaxInt64 || got.EndTimeUnixNano != math.MaxInt64 { // no span ends before it begins
		t.Errorf("times %d, %d", got.StartTimeUnixNano, got.EndTimeUnixNano)
	}
	if got := spans[1]; got.StartTimeUnixNano != 0 || got.EndTimeUnixNano != 0 {
		t.Errorf("before 1970: times %d, %d", got.StartTimeUnixNano, got.EndTimeUnixNano)
	}
	attributes := members(got.Attributes)
	if attributes["broken"] != "a\uFFFDb" || attributes["na\uFFFDme"] != "x" {
		t.Errorf("attributes %v", attributes)
	}
	if size := proto.Size(got); size > message.MaxAttributes+2048 {
		t.Errorf("a span of %d bytes", size)
	}
	if got.DroppedAttributesCount != 8 {
		t.Errorf("%d dropped, want those 8 of 10 that do not fit", got.DroppedAttributesCount)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	partial, err := proto.Marshal(&collector.ExportTraceServiceResponse{
		PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 12, ErrorMessage: "too old"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer []byte
		want   int64
	}{"nothing": {nil, 0}, "partial": {partial, 12}} {
		if got, err := message.Rejected(c.answer); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, c.want)
		}
	}
	for _, bad := range []string{"{}", "<html>", "\x0a\x7f", string(partial[:len(partial)-3])} {
		if got, err := message.Rejected([]byte(bad)); err == nil {
			t.Errorf("%q is read as %d rejected", bad, got)
		}
	}
}

// FuzzMembers: whatever is stored as attributes, the official types read what is
// made of it.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}],"c":"\ud800","d":1e999}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		s := some()
		s.Attributes.Members(object, "writ")
		_, spans := read(t, message.Attributes{}, s)
		if size := proto.Size(spans[0]); size > message.MaxAttributes+2048 {
			t.Errorf("a span of %d bytes", size)
		}
	})
}
