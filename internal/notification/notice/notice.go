// Package notice defines the events that people are notified of, and their wording.
// Events are about approval requests, about profiles that need a confirmation, about
// agents, about MCP servers and about keys that change hands.
// The package is pure.
//
// An event of a request has a number within its organization. Each follower (inboxes,
// webhooks, the stream of the queue) remembers the last number it has processed. The
// wording is the same everywhere.
//
// An agent chose much of an event: the names of tool and server, the arguments. In
// texts they become one line of limited length, without characters that control a
// terminal or reverse the text. Further escaping depends on the target and happens
// there.
package notice

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind is what happened to a request or to a profile.
type Kind string

// The kinds of events.
const (
	Opened    Kind = "approval.opened"
	Voted     Kind = "approval.voted" // one person approved, and another must
	Approved  Kind = "approval.approved"
	Rejected  Kind = "approval.rejected"
	Cancelled Kind = "approval.cancelled"
	Expired   Kind = "approval.expired"
	Used      Kind = "approval.used"
	Revoked   Kind = "approval.revoked" // a standing approval was revoked
)

// Kinds lists every kind, those of requests in the order of a request's life.
func Kinds() []Kind {
	return []Kind{
		Opened, Voted, Approved, Rejected, Cancelled, Expired, Used, Revoked, ProfileProposed, AgentKilled,
		AgentSuspended, AgentTripped, ToolsHeld,
	}
}

// Settles reports whether the request no longer needs an answer.
func (k Kind) Settles() bool {
	return k == Approved || k == Rejected || k == Cancelled || k == Expired
}

// Event is something that happened to an approval request, or to what About says.
type Event struct {
	OrgID   string
	Number  int64 // within the organization, from 1, without gaps
	Kind    Kind
	At      time.Time
	ActorID string // who did it; empty: nobody, as when a request expires
	Request Request
	// About is set, in place of Request, if the event is about something else.
	About About
}

// About is what an event is about that has no request: a *Proposal, an *Agent, a *Server or *HandedOver.
type About interface {
	title() string
	subject() string
	link(publicURL string) string
}

// Request is the approval request an event is about, in its present state.
type Request struct {
	ID      string
	OwnAsk  bool // an ask, which OwnerID alone may answer
	OwnerID string
	Role    string // that an approver needs at least; empty: any that may approve
	Status  string

	Server, Tool, AgentID, SessionID, PlanID, KeyID, Email string

	Reason    string // why an approval is needed
	Note      string // of the person who answered
	Risk      string // low, medium, high, critical; empty: unknown
	Reasons   []string
	Arguments string // redacted JSON
	// ArgumentsFrom is empty if they are the call's. Else nobody has seen those: plan if Arguments are the plan's,
	// unknown if there are none.
	ArgumentsFrom string

	CreatedAt time.Time
	ExpiresAt time.Time
}

// maxName is how many characters of a name that an agent chose are shown.
const maxName = 120

// Name is the tool with its server.
func (r Request) Name() string {
	name := r.Tool
	if r.Server != "" {
		name = r.Server + "." + r.Tool
	}
	return cmp.Or(safeName(name), "a tool without a name")
}

// safeName is a name as one line, in quotes if it could pass for our own words. It
// breaks what mails and chats would turn into a link.
func safeName(name string) string {
	line := strings.ReplaceAll(Line(name, maxName), "://", ":/ /")
	if strings.ContainsFunc(line, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._-:/@…", c)
	}) {
		return strconv.Quote(line)
	}
	return line
}

// phrases say what happened, after the name of the tool.
var phrases = map[Kind]string{
	Opened:    "waits for an approval",
	Voted:     "has one approval and needs another",
	Approved:  "was approved",
	Rejected:  "was rejected",
	Cancelled: "was cancelled by the requester",
	Expired:   "was not answered in time and is denied",
	Used:      "ran with an approval",
	Revoked:   "may no longer run with an earlier approval",
}

// Title is the event in one line.
func (e Event) Title() string {
	if e.About != nil {
		return e.About.title()
	}
	phrase := phrases[e.Kind]
	if e.Kind == Cancelled && e.ActorID == "" {
		phrase = "was cancelled, because its agent or key was stopped"
	}
	title := e.Request.Name() + " " + cmp.Or(phrase, "changed")
	var marks []string
	if e.Kind == Opened && e.Request.Risk != "" {
		marks = append(marks, "risk: "+Line(e.Request.Risk, maxName))
	}
	if e.Request.ArgumentsFrom != "" {
		marks = append(marks, "arguments unknown")
	}
	if len(marks) == 0 {
		return title
	}
	return title + " (" + strings.Join(marks, ", ") + ")"
}

// Subject is the id of what the event is about.
func (e Event) Subject() string {
	if e.About != nil {
		return e.About.subject()
	}
	return e.Request.ID
}

// Link opens what the event is about in a browser, and does nothing else.
func (e Event) Link(publicURL string) string {
	if e.About != nil {
		return e.About.link(publicURL)
	}
	return Link(publicURL, e.Request.ID)
}

// ArgumentsWords say that nobody has seen the arguments of the call; empty: they are known.
func (r Request) ArgumentsWords() string {
	switch r.ArgumentsFrom {
	case "":
		return ""
	case "plan":
		return "nobody has seen those of the call; the request shows what its plan states"
	}
	return "nobody has seen those of the call: it was asked about without them"
}

// Link opens a request in a browser. It approves nothing: the person signs in, reads
// the request and decides there.
func Link(publicURL, requestID string) string {
	return strings.TrimRight(publicURL, "/") + "/ui/approvals/" + url.PathEscape(requestID)
}

// Line makes untrusted text one harmless line of at most so many characters: control
// characters, and invisible ones that change how the rest is read, become spaces.
func Line(text string, most int) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsGraphic(r)
	})
	line := []rune(strings.Join(words, " "))
	if len(line) > most {
		return strings.TrimRight(string(line[:most]), " ") + "…"
	}
	return string(line)
}
