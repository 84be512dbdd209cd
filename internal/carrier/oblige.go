package carrier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	// The reasons for which a whole result is withheld.
	undoable = "its result is withheld: what a policy demands cannot be done with it"
	unended  = "its result is withheld: the call has ended before what a policy demands was done with it"
)

// Done is the result of what gives none: nothing can be left out of it.
type Done struct{}

// canOblige reports whether the carrier keeps obligations with a call: with everything that has a result of the server.
// What a server asks of its client has none.
func canOblige(call Call) bool {
	return !call.NoTool || call.Tool == "mcp:prompt" || call.Tool == "mcp:resource"
}

// oblige does with the result what the decision demands. What cannot be done as it demands is withheld. promised is as
// of a Call. ctx is that of the call: whoever does not wait for the result any more does not have it worked on. What
// panics is withheld too, and is the error, for the operator: the tool has run, and that must be recorded.
func (o *Outcome) oblige(ctx context.Context, server string, promised bool) (err error) {
	set := o.Answer.Oblige
	if set.IsZero() {
		return nil
	}
	if o.Failure != nil {
		o.obligeFailure(set)
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
			o.withhold(server, undoable)
		}
	}()
	o.obligeResult(ctx, set, server, promised)
	return nil
}

func (o *Outcome) obligeResult(ctx context.Context, set *obligation.Set, server string, promised bool) {
	result, err := obliged(ctx, o.Result, set)
	switch {
	case ctx.Err() != nil && len(set.Redact) > 0:
		o.withhold(server, unended)
		return
	case err != nil:
		o.withhold(server, undoable)
		return
	}
	if made, ok := result.(*mcp.CallToolResult); ok && promised {
		breakPromise(made, o.Result)
	}
	o.Result = result
	o.write(server)
	if o.Failure == nil && set.MaxBytes > 0 && int64(len(o.Output)) > set.MaxBytes {
		o.withhold(server, fmt.Sprintf("its result is withheld: it has %d bytes, and a policy permits %d",
			len(o.Output), set.MaxBytes))
	}
}

// obligeFailure leaves out what a server says of why it failed, where members of its results are left out, or where
// that is longer than a result may be: else a server would answer with an error instead.
func (o *Outcome) obligeFailure(set *obligation.Set) {
	said := len(o.Failure.Message)
	if sent, ok := errors.AsType[*jsonrpc.Error](o.Failure.Cause); ok {
		said += len(sent.Data)
	}
	isTooLong := set.MaxBytes > 0 && int64(said) > set.MaxBytes
	if len(set.Redact) == 0 && !isTooLong || o.Failure.Kind != upstream.Answered {
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
				Text: "The tool has run, and " + why + ".",
			}},
		}
		o.write(server)
		return
	}
	o.Result, o.Output = nil, nil
	o.Failure = &upstream.Failure{Kind: upstream.TooLong, Server: server, Reason: why, Sent: true}
}

// errNothing: a server put null where a part of its result must be.
var errNothing = errors.New("a part of it is null")

// obliged is a result with what must be left out left out, and with its labels.
func obliged(ctx context.Context, result any, set *obligation.Set) (any, error) {
	switch r := result.(type) {
	case Done:
		return r, nil
	case *mcp.CallToolResult:
		made := *r
		return &made, obligeCall(ctx, &made, set)
	case *mcp.GetPromptResult:
		made := *r
		made.Messages = nil
		if made.Description != "" && len(set.Redact) > 0 {
			made.Description = withheld
		}
		for _, m := range r.Messages {
			if m == nil {
				return nil, errNothing
			}
			message := *m
			message.Content = redactContent(ctx, m.Content, set.Redact)
			made.Messages = append(made.Messages, &message)
		}
		return &made, obligeMeta(ctx, &made.Meta, set)
	case *mcp.ReadResourceResult:
		made := *r
		made.Contents = nil
		for _, c := range r.Contents {
			if c == nil {
				return nil, errNothing
			}
			made.Contents = append(made.Contents, redactResource(ctx, c, set.Redact))
		}
		return &made, obligeMeta(ctx, &made.Meta, set)
	}
	return nil, fmt.Errorf("a %T", result)
}

func obligeCall(ctx context.Context, made *mcp.CallToolResult, set *obligation.Set) error {
	content := make([]mcp.Content, len(made.Content))
	hidden := map[string]bool{}
	for i, c := range made.Content {
		content[i] = redactContent(ctx, c, set.Redact)
		if given := textOf(c); given != "" && textOf(content[i]) == withheld {
			hidden[given] = true // servers give the same text as a member of structured content
		}
	}
	made.Content = content
	if made.StructuredContent != nil && len(set.Redact) > 0 {
		text, err := json.Marshal(made.StructuredContent)
		if err != nil {
			return err
		}
		if !isComposed(text) {
			made.StructuredContent = nil // as text that is no JSON
			return obligeMeta(ctx, &made.Meta, set)
		}
		if text, err = redactJSON(ctx, text, set.Redact, hidden); err != nil {
			return err
		}
		made.StructuredContent = json.RawMessage(text)
	}
	return obligeMeta(ctx, &made.Meta, set)
}

// textOf is the text of a part of a result; empty: it has none.
func textOf(c mcp.Content) string {
	switch part := c.(type) {
	case *mcp.TextContent:
		return part.Text
	case *mcp.EmbeddedResource:
		if part.Resource != nil {
			return part.Resource.Text
		}
	}
	return ""
}

// obligeMeta labels a result, and leaves out members of what the server says beside it.
func obligeMeta(ctx context.Context, meta *mcp.Meta, set *obligation.Set) error {
	made := mcp.Meta{}
	if len(*meta) > 0 {
		text, err := json.Marshal(*meta)
		if err != nil {
			return err
		}
		if len(set.Redact) > 0 {
			if text, err = redactJSON(ctx, text, set.Redact, nil); err != nil {
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
func redactContent(ctx context.Context, c mcp.Content, members []string) mcp.Content {
	if len(members) == 0 {
		return c
	}
	switch part := c.(type) {
	case *mcp.TextContent:
		return &mcp.TextContent{Text: redactText(ctx, part.Text, members), Annotations: part.Annotations}
	case *mcp.EmbeddedResource:
		if part.Resource != nil {
			return &mcp.EmbeddedResource{
				Resource: redactResource(ctx, part.Resource, members), Annotations: part.Annotations,
			}
		}
	}
	return &mcp.TextContent{Text: withheld}
}

func redactResource(ctx context.Context, c *mcp.ResourceContents, members []string) *mcp.ResourceContents {
	if len(members) == 0 {
		return c
	}
	made := &mcp.ResourceContents{URI: c.URI, MIMEType: c.MIMEType, Text: withheld}
	if c.Blob == nil {
		made.Text = redactText(ctx, c.Text, members)
	}
	return made
}
