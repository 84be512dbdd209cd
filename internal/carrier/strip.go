package carrier

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// asserted are members that published SDKs put among the arguments: what the client says of itself, of the call, or of
// approvals. Nothing is decided by them, and no tool has asked for them.
var asserted = map[string]bool{
	"_policy_context": true, "_delegation_id": true, "_approvals": true, "_iam_context": true,
}

// bySDK is one more that only an SDK sends: as an argument of another client it is a plain one.
const bySDK = "user_email"

// strip is the arguments without what the client asserts. It changes nothing else: what is left is byte by byte what
// was sent. What cannot be read is left as it is, and enforcement says what is wrong with it.
func strip(call Call) jsontext.Value {
	raw := jsontext.Value(call.Arguments)
	if len(bytes.TrimSpace(raw)) == 0 {
		return jsontext.Value(`{}`)
	}
	if raw.Kind() != jsontext.KindBeginObject {
		return raw
	}
	in := jsontext.NewDecoder(bytes.NewReader(raw))
	out := []byte{'{'}
	if _, err := in.ReadToken(); err != nil {
		return raw
	}
	for in.PeekKind() != jsontext.KindEndObject {
		name, err := in.ReadValue()
		if err != nil {
			return raw
		}
		key := name.Clone() // the next read overwrites it
		value, err := in.ReadValue()
		if err != nil {
			return raw
		}
		if called := unquoted(key); asserted[called] || call.SDK && called == bySDK {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}')
}

func unquoted(name jsontext.Value) string {
	text, err := jsontext.AppendUnquote(nil, name)
	if err != nil {
		return ""
	}
	return string(text)
}
