package turns

import (
	"strings"

	"writ/internal/hook/bounded"
)

// The words by which the host marks what the person did not type.
const (
	contextBegin = "<hook_context>"
	contextEnd   = "</hook_context>"
	filesBegin   = "\n--- Content from referenced files ---"
)

// Limits of the server.
const (
	maxTyped = 64 << 10
	// maxChunk is how much text goes into one request: 1 MiB is what a server takes by default, and escaped text may
	// be six times as long.
	maxChunk = 128 << 10
	// maxText is more than the server keeps of a session. Beyond it the server knows that something is missing, and
	// nobody has to say more.
	maxText = 640 << 10
)

// prompt is a prompt, split into what the person typed and the rest.
type prompt struct {
	typed string // by the person
	along string // everything else
}

// splitPrompt takes apart what the host made one text of. In doubt something counts as not typed: what a file
// says about where it ends is the file's own word, so everything behind the beginning of files came along.
func splitPrompt(text string) prompt {
	var p prompt
	if rest, ok := strings.CutPrefix(text, contextBegin); ok {
		inside, behind, _ := strings.Cut(rest, contextEnd)
		p.along = strings.TrimSpace(inside)
		text = strings.TrimLeft(behind, "\n")
	}
	if i := strings.Index(text, filesBegin); i >= 0 {
		p.along = strings.TrimSpace(p.along + "\n" + text[i:])
		text = text[:i]
	}
	p.typed = text
	if len(text) > maxTyped {
		p.typed = bounded.Head(text, maxTyped)
		p.along = strings.TrimSpace(text[len(p.typed):] + "\n" + p.along)
	}
	return p
}

// texts is what came along, in parts that fit into a request.
func (p prompt) texts() (parts []string) {
	for rest := bounded.Head(p.along, maxText); rest != ""; {
		part := bounded.Head(rest, maxChunk)
		if i := strings.LastIndexByte(part, '\n'); i > 0 && len(part) < len(rest) {
			part = part[:i+1] // a value should stay in one part
		}
		parts, rest = append(parts, part), rest[len(part):]
	}
	return parts
}
