package carrier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/upstream"
	"writ/internal/obligation"
)

// labelsMeta is where a result says how it is labelled.
const labelsMeta = "writ/labels"

const (
	redacted = `"[redacted]"`
	// withheld stands for what cannot be read as JSON, so that nobody knows which members it has.
	withheld = "[withheld: a policy has members of this result left out, and this is no JSON]"
)

// Done is the result of what gives none: nothing can be left out of it.
type Done struct{}

// canOblige reports whether the carrier keeps obligations with a call: with everything that has a result of the server.
// What a server asks of its client has none.
func canOblige(call Call) bool {
	return !call.NoTool || call.Tool == "mcp:prompt" || call.Tool == "mcp:resource"
}

// oblige does with the result what the decision demands. What cannot be done as it demands is withheld.
func (o *Outcome) oblige(server string) {
	set := o.Answer.Oblige
	if set.IsZero() {
		return
	}
	if o.Failure != nil {
		o.obligeFailure(set)
		return
	}
	result, err := obliged(o.Result, set)
	if err != nil {
		o.withhold(server, "its result is withheld: what a policy demands cannot be done with it")
		return
	}
	o.Result = result
	o.write(server)
	if o.Failure == nil && set.MaxBytes > 0 && int64(len(o.Output)) > set.MaxBytes {
		o.withhold(server, fmt.Sprintf("its result is withheld: it has %d bytes, and a policy permits %d",
			len(o.Output), set.MaxBytes))
	}
}

// obligeFailure leaves out what a server says of why it failed, where members of its results are left out.
func (o *Outcome) obligeFailure(set *obligation.Set) {
	if len(set.Redact) == 0 || o.Failure.Kind != upstream.Answered {
		return
	}
	f := *o.Failure
	f.Message, f.Cause = "the MCP server's message is withheld", nil
	o.Failure = &f
}

// withhold puts why in place of the result. The tool has run.
func (o *Outcome) withhold(server, why string) {
	if _, ok := o.Result.(*mcp.CallToolResult); ok {
		o.Result = &mcp.CallToolResult{
			IsError: true,
			Content: []mcp.Content{&mcp.TextContent{
				Text: "The tool has run, and " + strings.TrimPrefix(why, "its ") + ".",
			}},
		}
		o.write(server)
		return
	}
	o.Result, o.Output = nil, nil
	o.Failure = &upstream.Failure{Kind: upstream.TooLong, Server: server, Reason: why, Sent: true}
}

// obliged is a result with what must be left out left out, and with its labels.
func obliged(result any, set *obligation.Set) (any, error) {
	switch r := result.(type) {
	case Done:
		return r, nil
	case *mcp.CallToolResult:
		made := *r
		return &made, obligeCall(&made, set)
	case *mcp.GetPromptResult:
		made := *r
		made.Messages = nil
		if made.Description != "" && len(set.Redact) > 0 {
			made.Description = withheld
		}
		for _, m := range r.Messages {
			message := *m
			message.Content = redactContent(m.Content, set.Redact)
			made.Messages = append(made.Messages, &message)
		}
		return &made, obligeMeta(&made.Meta, set)
	case *mcp.ReadResourceResult:
		made := *r
		made.Contents = nil
		for _, c := range r.Contents {
			made.Contents = append(made.Contents, redactResource(c, set.Redact))
		}
		return &made, obligeMeta(&made.Meta, set)
	}
	return nil, fmt.Errorf("a %T", result)
}

func obligeCall(made *mcp.CallToolResult, set *obligation.Set) error {
	content := make([]mcp.Content, len(made.Content))
	for i, c := range made.Content {
		content[i] = redactContent(c, set.Redact)
	}
	made.Content = content
	if made.StructuredContent != nil && len(set.Redact) > 0 {
		text, err := json.Marshal(made.StructuredContent)
		if err != nil {
			return err
		}
		if !isComposed(text) {
			made.StructuredContent = nil // as text that is no JSON
			return obligeMeta(&made.Meta, set)
		}
		if text, err = redactJSON(text, set.Redact); err != nil {
			return err
		}
		made.StructuredContent = json.RawMessage(text)
	}
	return obligeMeta(&made.Meta, set)
}

// obligeMeta labels a result, and leaves out members of what the server says beside it.
func obligeMeta(meta *mcp.Meta, set *obligation.Set) error {
	made := mcp.Meta{}
	if len(*meta) > 0 {
		text, err := json.Marshal(*meta)
		if err != nil {
			return err
		}
		if len(set.Redact) > 0 {
			if text, err = redactJSON(text, set.Redact); err != nil {
				return err
			}
		}
		if err := json.Unmarshal(text, &made); err != nil {
			return err
		}
	}
	if len(set.Labels) > 0 {
		made[labelsMeta] = set.Labels
	}
	if len(made) > 0 {
		*meta = made
	}
	return nil
}

// redactContent is a part of a result without the members; nothing is changed where none are named.
func redactContent(c mcp.Content, members []string) mcp.Content {
	if len(members) == 0 {
		return c
	}
	switch part := c.(type) {
	case *mcp.TextContent:
		return &mcp.TextContent{Text: redactText(part.Text, members), Annotations: part.Annotations}
	case *mcp.EmbeddedResource:
		if part.Resource != nil {
			return &mcp.EmbeddedResource{
				Resource: redactResource(part.Resource, members), Annotations: part.Annotations,
			}
		}
	}
	return &mcp.TextContent{Text: withheld}
}

func redactResource(c *mcp.ResourceContents, members []string) *mcp.ResourceContents {
	if len(members) == 0 {
		return c
	}
	made := &mcp.ResourceContents{URI: c.URI, MIMEType: c.MIMEType, Text: withheld}
	if c.Blob == nil {
		made.Text = redactText(c.Text, members)
	}
	return made
}

// isComposed reports whether a JSON text is one that has members.
func isComposed(text []byte) bool {
	kind := jsontext.Value(text).Kind()
	return kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray
}

func redactText(text string, members []string) string {
	if !isComposed([]byte(text)) {
		return withheld
	}
	made, err := redactJSON([]byte(text), members)
	if err != nil {
		return withheld
	}
	return string(made)
}

// redactJSON is a JSON text without the values of members. A member is named by its name, or by that of the member that
// it is directly in and its own, with a dot between; a star is any name. Arrays are looked through.
func redactJSON(text []byte, members []string) ([]byte, error) {
	var out bytes.Buffer
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false)}
	in, to := jsontext.NewDecoder(bytes.NewReader(text), lenient...), jsontext.NewEncoder(&out, lenient...)
	r := &redactor{in: in, to: to}
	for _, member := range members {
		r.members = append(r.members, strings.Split(member, "."))
	}
	if err := r.value(nil); err != nil {
		return nil, err
	}
	if _, err := in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something is behind the value")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

type redactor struct {
	in      *jsontext.Decoder
	to      *jsontext.Encoder
	members [][]string
}

// maxDepth is how many arrays and objects of a result may be within each other where members are left out.
const maxDepth = 128

// value copies the next value, which is at a path of names.
func (r *redactor) value(path []string) error {
	if r.in.StackDepth() > maxDepth {
		return errors.New("is nested too deep")
	}
	switch r.in.PeekKind() {
	case jsontext.KindBeginObject:
		return r.object(path)
	case jsontext.KindBeginArray:
		if err := r.token(); err != nil {
			return err
		}
		for r.in.PeekKind() != jsontext.KindEndArray {
			if err := r.value(path); err != nil {
				return err
			}
		}
		return r.token()
	}
	value, err := r.in.ReadValue()
	if err != nil {
		return err
	}
	return r.to.WriteValue(value)
}

func (r *redactor) object(path []string) error {
	if err := r.token(); err != nil {
		return err
	}
	for r.in.PeekKind() != jsontext.KindEndObject {
		name, err := r.in.ReadToken()
		if err != nil {
			return err
		}
		at := append(path[:len(path):len(path)], name.String())
		if err := r.to.WriteToken(jsontext.String(at[len(at)-1])); err != nil {
			return err
		}
		if !r.leavesOut(at) {
			if err := r.value(at); err != nil {
				return err
			}
			continue
		}
		if err := r.in.SkipValue(); err != nil {
			return err
		}
		if err := r.to.WriteValue(jsontext.Value(redacted)); err != nil {
			return err
		}
	}
	return r.token()
}

func (r *redactor) token() error {
	token, err := r.in.ReadToken()
	if err != nil {
		return err
	}
	return r.to.WriteToken(token)
}

// leavesOut reports whether a member at a path is one of those. A name with a dot in it may be meant as one name, or as
// that of a member and the one that it is in.
func (r *redactor) leavesOut(path []string) bool {
	if r.fits(path) {
		return true
	}
	joined := strings.Join(path, ".")
	return strings.Count(joined, ".") >= len(path) && r.fits(strings.Split(joined, "."))
}

func (r *redactor) fits(path []string) bool {
	for _, member := range r.members {
		if len(member) > len(path) {
			continue
		}
		fits := true
		for i, name := range member {
			is := path[len(path)-len(member)+i]
			fits = fits && (name == "*" || name == is)
		}
		if fits {
			return true
		}
	}
	return false
}
