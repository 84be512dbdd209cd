package scan

import "strings"

// chatMarks are what separates the messages of a chat in prompts of known models.
var chatMarks = []string{
	"<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>", "<|eot_id|>",
	"<|start_header_id|>", "<|begin_of_text|>", "<<sys>>", "<</sys>>", "[inst]", "[/inst]", "[system]", "[/system]",
	"<start_of_turn>", "<end_of_turn>", "[system message]", "[system prompt]", "[system instruction]",
	"### system", "### instruction", "###system", "###instruction", "<|channel|>", "<|message|>",
}

// roleTags are elements that look like a message of the system or of a client.
var roleTags = map[string]bool{
	"system": true, "system_prompt": true, "system-prompt": true, "systemprompt": true, "system_message": true,
	"system-reminder": true, "system_reminder": true, "sys": true, "assistant": true, "tool_result": true,
	"tool_results": true, "function_results": true, "function_calls": true, "tool_call": true, "tool_description": true,
	"developer": true, "system_instruction": true, "system_instructions": true,
}

// attentionTags are elements that call for attention.
var attentionTags = map[string]bool{
	"important": true, "critical": true, "instruction": true, "instructions": true, "hidden": true, "secret": true,
	"priority": true, "admin": true, "override": true, "internal": true, "directive": true, "mandatory": true,
	"urgent": true, "note_to_model": true, "note_to_assistant": true, "agent_instructions": true, "required": true,
	"important_instructions": true, "important_note": true,
}

// markup reports markup that is not shown, and messages that are imitated.
func (s *scanner) markup(t *text) {
	if !strings.ContainsAny(t.value, "<[#:") {
		return
	}
	s.chatMarks(t)
	for at := strings.IndexByte(t.value, '<'); at >= 0 && at < len(t.value); {
		s.work++
		s.element(t, at)
		next := strings.IndexByte(t.value[at+1:], '<')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	if at := strings.Index(t.value, "]("); at >= 0 {
		s.image(t)
	}
	if at := strings.Index(t.value, "[//]: #"); at >= 0 {
		s.found(t, hiddenMarkup, 0, at, at+evidenceAfter)
	}
}

// image reports pictures whose address is made of what the model knows: a client that shows them sends that out.
func (s *scanner) image(t *text) {
	for rest, at := t.value, 0; ; {
		start := strings.Index(rest, "![")
		if start < 0 {
			return
		}
		s.work++
		picture := rest[start:min(len(rest), start+maxAttributes)]
		_, address, found := strings.Cut(picture, "](http")
		address, _, closed := strings.Cut(address, ")")
		if found && closed && strings.ContainsAny(address, "{<$") {
			s.found(t, exfiltrationText, 0, at+start, at+start+len(picture))
			return
		}
		at += start + 2
		rest = t.value[at:]
	}
}

// maxMark is longer than every mark of a chat.
const maxMark = 24

func (s *scanner) chatMarks(t *text) {
	for at := 0; at < len(t.value); at++ {
		c := t.value[at]
		if c != '<' && c != '[' && c != '#' {
			continue
		}
		s.work += len(chatMarks)
		rest := strings.ToLower(t.value[at:min(len(t.value), at+maxMark)])
		for _, mark := range chatMarks {
			if strings.HasPrefix(rest, mark) {
				s.found(t, instructionRole, 0, at, at+len(mark))
				return
			}
		}
	}
}

// minComment are the letters of a comment that say more than an example does.
const minComment = 24

// element reports one element of markup.
func (s *scanner) element(t *text, at int) {
	rest := t.value[at:]
	if comment, ok := strings.CutPrefix(rest, "<!--"); ok {
		end := strings.Index(comment[:min(len(comment), maxCommentRead)], "-->")
		if end < 0 {
			end = min(len(comment), maxCommentRead)
		}
		severity := Severity(0)
		if len(strings.TrimSpace(comment[:end])) < minComment || !s.speaksOf(comment[:end]) {
			severity = Low
		}
		s.found(t, hiddenMarkup, severity, at, at+end)
		return
	}
	name, attributes := elementName(rest)
	switch {
	case roleTags[name]:
		s.found(t, instructionRole, 0, at, at+len(name))
	case attentionTags[name]:
		t.tagged = true
	case hides(attributes):
		severity := Severity(0)
		content, _, _ := strings.Cut(rest[1:min(len(rest), maxCommentRead)], "</")
		if _, content, _ = strings.Cut(content, ">"); !s.speaksOf(content) {
			severity = Low
		}
		s.found(t, hiddenMarkup, severity, at, at+len(attributes))
	}
}

// Bytes of an element that are read.
const (
	maxName        = 32
	maxAttributes  = 200
	maxCommentRead = 400
)

// elementName is the name of an element in lower case, and its attributes.
func elementName(text string) (name, attributes string) {
	text = strings.TrimPrefix(text[1:min(len(text), maxAttributes)], "/")
	end := 0
	for end < len(text) && end < maxName && (isWordByte(text[end]) || text[end] == '_' || text[end] == '-') {
		end++
	}
	close := strings.IndexByte(text, '>')
	if close < end {
		return "", ""
	}
	return strings.ToLower(text[:end]), strings.ToLower(text[end:close])
}

// hides reports whether attributes keep an element from being shown.
func hides(attributes string) bool {
	if attributes == "" {
		return false
	}
	packed := strings.ReplaceAll(attributes, " ", "")
	for _, way := range []string{
		"display:none", "visibility:hidden", "font-size:0", "opacity:0", "color:white", "color:#fff", "height:0",
		"width:0", "color:transparent", "aria-hidden=\"true\"",
	} {
		if strings.Contains(packed, way) {
			return true
		}
	}
	return strings.HasSuffix(attributes, " hidden")
}
