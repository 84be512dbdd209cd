package webhook

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"writ/internal/notification/notice"
	"writ/internal/redaction"
)

// Limits of a payload.
const (
	maxArguments = 2000 // bytes
	maxText      = 500  // characters of a reason or a note
	maxReasons   = 10
	maxSection   = 3000 // bytes of a section of a Slack message
)

// message is a delivery to a generic target. Later versions only add members.
type message struct {
	ID             string    `json:"id"` // of the delivery
	Type           string    `json:"type"`
	OrganizationID string    `json:"organizationId"`
	Number         int64     `json:"number,omitzero"` // of the event
	At             time.Time `json:"at"`
	Title          string    `json:"title"`
	Request        *request  `json:"request,omitzero"`
	Proposal       *proposal `json:"proposal,omitzero"`
	Agent          *agent    `json:"agent,omitzero"`
	Server         *server   `json:"server,omitzero"`
}

// agent is an agent that something happened to.
type agent struct {
	ID     string `json:"id"`
	Key    bool   `json:"key,omitzero"`   // the id is that of an API key
	Scope  string `json:"scope,omitzero"` // of a kill: what the id is of, if it is no agent
	Reason string `json:"reason,omitzero"`
	URL    string `json:"url"`
}

// server is an MCP server of which tools are held.
type server struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Tools  []string `json:"tools"`         // held since now, the first of them
	More   int      `json:"more,omitzero"` // and so many others
	Reason string   `json:"reason"`
	URL    string   `json:"url"`
}

// proposal is a profile that needs a confirmation, without its content.
type proposal struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	Reason        string    `json:"reason,omitzero"`
	PolicyID      string    `json:"policyId"`
	PolicyVersion int       `json:"policyVersion"`
	OwnerID       string    `json:"ownerId"`
	ByKey         bool      `json:"byKey"`
	CreatedAt     time.Time `json:"createdAt"`
	URL           string    `json:"url"`
}

type request struct {
	ID          string    `json:"id"`
	Kind        string    `json:"kind"`
	Status      string    `json:"status"`
	Server      string    `json:"server"`
	Tool        string    `json:"tool"`
	AgentID     string    `json:"agentId,omitzero"`
	SessionID   string    `json:"sessionId,omitzero"`
	PlanID      string    `json:"planId,omitzero"`
	KeyID       string    `json:"keyId"`
	Email       string    `json:"requesterEmail,omitzero"`
	Reason      string    `json:"reason,omitzero"`
	Note        string    `json:"note,omitzero"`
	Risk        string    `json:"risk,omitzero"`
	RiskReasons []string  `json:"riskReasons,omitzero"`
	CreatedAt   time.Time `json:"createdAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	URL         string    `json:"url"`
	Arguments   string    `json:"arguments,omitzero"` // JSON text, redacted and cut
	// ArgumentsFrom is plan or unknown if nobody has seen the arguments of the call.
	ArgumentsFrom string `json:"argumentsFrom,omitzero"`
}

// render is the body of a delivery, in the format of the target.
func render(w *Webhook, deliveryID string, e notice.Event, publicURL string) ([]byte, error) {
	var body any
	switch w.Kind {
	case Slack:
		body = slackMessage(w, e, publicURL)
	case Teams:
		body = teamsMessage(w, e, publicURL)
	case Generic:
		body = genericMessage(w, deliveryID, e, publicURL)
	default:
		return nil, fmt.Errorf("render a delivery: unknown kind of webhook %q", w.Kind)
	}
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("render a delivery of %s: %w", e.Kind, err)
	}
	return text, nil
}

func genericMessage(w *Webhook, deliveryID string, e notice.Event, publicURL string) message {
	m := message{
		ID:             deliveryID,
		Type:           string(e.Kind),
		OrganizationID: e.OrgID,
		Number:         e.Number,
		At:             e.At,
		Title:          titleOf(w, e),
	}
	if e.Kind == testKind {
		return m
	}
	link := e.Link(publicURL)
	switch about := e.About.(type) {
	case *notice.Proposal:
		m.Proposal = proposalOf(about, link)
	case *notice.Agent:
		m.Agent = &agent{
			ID:     notice.Line(about.ID, maxText),
			Key:    about.Key,
			Scope:  about.Scope,
			Reason: notice.Line(about.Reason, maxText),
			URL:    link,
		}
	case *notice.Server:
		m.Server = serverOf(about, link)
	default:
		m.Request = requestOf(w, e.Request, link)
	}
	return m
}

func serverOf(s *notice.Server, link string) *server {
	shown := &server{
		ID:     s.ID,
		Name:   notice.Line(s.Name, maxText),
		Tools:  make([]string, 0, len(s.Tools)),
		More:   s.More,
		Reason: notice.Line(s.Reason, maxText),
		URL:    link,
	}
	for _, tool := range s.Tools {
		shown.Tools = append(shown.Tools, notice.Line(tool, maxText))
	}
	return shown
}

func proposalOf(p *notice.Proposal, link string) *proposal {
	return &proposal{
		ID:            p.ID,
		Name:          notice.Line(p.Name, maxText),
		Reason:        notice.Line(p.Reason, maxText),
		PolicyID:      p.PolicyID,
		PolicyVersion: p.PolicyVersion,
		OwnerID:       p.OwnerID,
		ByKey:         p.ByKey,
		CreatedAt:     p.At,
		URL:           link,
	}
}

func requestOf(w *Webhook, r notice.Request, link string) *request {
	kind := "hold"
	if r.OwnAsk {
		kind = "ask"
	}
	return &request{
		ID:          r.ID,
		Kind:        kind,
		Status:      r.Status,
		Server:      validUTF8(r.Server),
		Tool:        validUTF8(r.Tool),
		AgentID:     validUTF8(r.AgentID),
		SessionID:   validUTF8(r.SessionID),
		PlanID:      r.PlanID,
		KeyID:       r.KeyID,
		Email:       validUTF8(r.Email),
		Reason:      notice.Line(r.Reason, maxText),
		Note:        notice.Line(r.Note, maxText),
		Risk:        r.Risk,
		RiskReasons: reasons(r),
		CreatedAt:   r.CreatedAt,
		ExpiresAt:   r.ExpiresAt,
		URL:         link,
		Arguments:   arguments(w, r),

		ArgumentsFrom: r.ArgumentsFrom,
	}
}

// testKind is the kind of a test delivery.
const testKind notice.Kind = "test"

func titleOf(w *Webhook, e notice.Event) string {
	if e.Kind == testKind {
		return fmt.Sprintf("This is a test of the webhook %q of Writ", w.Name)
	}
	return e.Title()
}

// facts are the lines below the title, in a chat message.
func facts(w *Webhook, e notice.Event) []string {
	if e.Kind == testKind {
		return nil
	}
	var lines []string
	add := func(name, text string) {
		if text = notice.Line(text, maxText); text != "" {
			lines = append(lines, name+": "+text)
		}
	}
	switch about := e.About.(type) {
	case *notice.Proposal:
		add("Why", about.Reason)
		return append(lines, "It has no effect until somebody confirms it")
	case *notice.Agent:
		add("Why", about.Reason)
		return lines
	case *notice.Server:
		add("Why", about.Reason)
		return lines
	}
	r := e.Request
	add("Why", r.Reason)
	add("Agent", r.AgentID)
	add("Asked for", r.Email)
	for _, reason := range reasons(r) {
		add("Risk", reason)
	}
	add("Answer", r.Note)
	add("Arguments unknown", r.ArgumentsWords())
	if text := arguments(w, r); text != "" {
		lines = append(lines, argumentsLine+notice.Line(text, maxArguments))
	}
	if e.Kind == notice.Opened {
		lines = append(lines,
			"Denied unless somebody answers by "+r.ExpiresAt.UTC().Format("15:04 UTC on 2 January 2006"))
	}
	return lines
}

// slackMessage is the message for an incoming webhook of Slack. Text that agents
// chose is plain text: with formatting an agent could mention a whole channel or
// make up a link.
func slackMessage(w *Webhook, e notice.Event, publicURL string) any {
	text := strings.Join(append([]string{titleOf(w, e)}, facts(w, e)...), "\n")
	section := func(kind, text string) any {
		return map[string]any{"type": "section", "text": map[string]any{"type": kind, "text": text}}
	}
	blocks := []any{section("plain_text", cut(slackText(text), maxSection))}
	if e.Kind != testKind {
		blocks = append(blocks, section("mrkdwn", "<"+slackText(e.Link(publicURL))+"|"+linkText(e)+">"))
	}
	// The text is for notifications, and for clients that do not show blocks.
	return map[string]any{"text": slackText(titleOf(w, e)), "blocks": blocks}
}

// linkText says what a link opens.
func linkText(e notice.Event) string {
	switch e.About.(type) {
	case *notice.Proposal:
		return "Open the proposal"
	case *notice.Agent:
		return "Open the agent"
	case *notice.Server:
		return "Open the MCP server"
	}
	return "Open the request"
}

// slackText escapes the characters that begin mentions and links in Slack.
func slackText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// teamsMessage is the message for a workflow behind a Teams webhook: an adaptive card
// whose texts are in runs, which do not interpret Markdown.
func teamsMessage(w *Webhook, e notice.Event, publicURL string) any {
	line := func(text, weight string) any {
		run := map[string]any{"type": "TextRun", "text": text}
		if weight != "" {
			run["weight"] = weight
		}
		return map[string]any{"type": "RichTextBlock", "inlines": []any{run}}
	}
	body := []any{line(titleOf(w, e), "Bolder")}
	for _, fact := range facts(w, e) {
		body = append(body, line(fact, ""))
	}
	card := map[string]any{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"type":    "AdaptiveCard",
		"version": "1.4",
		"body":    body,
	}
	if e.Kind != testKind {
		card["actions"] = []any{map[string]any{
			"type": "Action.OpenUrl", "title": linkText(e), "url": e.Link(publicURL),
		}}
	}
	return map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card,
	}}}
}

// arguments are those of the call, if the webhook sends them. They were redacted when
// they were stored, and are again before they leave the server.
func arguments(w *Webhook, r notice.Request) string {
	if !w.SendArguments || r.Arguments == "" {
		return ""
	}
	text, err := redaction.JSON([]byte(r.Arguments))
	if err != nil {
		return "" // what cannot be read cannot be redacted
	}
	return cut(string(text), maxArguments)
}

func reasons(r notice.Request) []string {
	var lines []string
	for _, reason := range r.Reasons[:min(len(r.Reasons), maxReasons)] {
		lines = append(lines, notice.Line(reason, maxText))
	}
	return lines
}

// cut shortens a text to at most so many bytes, between characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// validUTF8 is a text that JSON can hold.
func validUTF8(text string) string { return strings.ToValidUTF8(text, "\ufffd") }
