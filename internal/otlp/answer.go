package otlp

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/encoding/protowire"
)

// ContentType is the media type of an encoding.
func (e Encoding) ContentType() string {
	if e == JSON {
		return "application/json"
	}
	return "application/x-protobuf"
}

// Answer is an ExportTraceServiceResponse: empty if all spans were accepted, else with how many were refused, and why.
func Answer(encoding Encoding, refused int, reason string) ([]byte, error) {
	if encoding == JSON {
		return answerJSON(refused, reason)
	}
	if refused == 0 {
		return []byte{}, nil
	}
	var partial []byte
	partial = protowire.AppendTag(partial, 1, protowire.VarintType)
	partial = protowire.AppendVarint(partial, uint64(refused))
	partial = protowire.AppendTag(partial, 2, protowire.BytesType)
	partial = protowire.AppendString(partial, reason)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial), nil
}

func answerJSON(refused int, reason string) ([]byte, error) {
	type partialSuccess struct {
		RejectedSpans string `json:"rejectedSpans"` // OTLP's JSON writes 64-bit numbers as texts
		ErrorMessage  string `json:"errorMessage"`
	}
	var answer struct {
		PartialSuccess *partialSuccess `json:"partialSuccess,omitempty"`
	}
	if refused > 0 {
		answer.PartialSuccess = &partialSuccess{strconv.Itoa(refused), reason}
	}
	return json.Marshal(answer)
}

// Status is a google.rpc.Status with a message, in protobuf: OTLP's answer to a request that failed as a whole. In
// JSON, any object with a message is one.
func Status(message string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), message)
}
