package carrier

import (
	"encoding/json"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// broken is told with a result that has not the form that its tool was listed with.
const broken = "The tool has run. A policy has members of its result left out, so that the result has not the form " +
	"that the tool was listed with: list the tools again. What is left of it follows."

// breakPromise makes a result whose structured content was changed one that clients take: they refuse structured
// content of another form than was promised, and a result without any unless it is an error. Refused, the call could be
// made again, and the tool has run.
func breakPromise(made *mcp.CallToolResult, sent any) {
	given, ok := sent.(*mcp.CallToolResult)
	if !ok || given.StructuredContent == nil || isSameJSON(given.StructuredContent, made.StructuredContent) {
		return
	}
	content := []mcp.Content{&mcp.TextContent{Text: broken}}
	if text, err := json.Marshal(made.StructuredContent); len(made.Content) == 0 && err == nil {
		content = append(content, &mcp.TextContent{Text: string(text)})
	}
	made.Content = append(content, made.Content...)
	made.StructuredContent, made.IsError = nil, true
}

// isSameJSON reports whether two values are the same as JSON.
func isSameJSON(a, b any) bool {
	read := func(v any) (to any, err error) {
		text, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(text, &to)
		}
		return to, err
	}
	first, err := read(a)
	if err != nil {
		return false
	}
	second, err := read(b)
	return err == nil && reflect.DeepEqual(first, second)
}
