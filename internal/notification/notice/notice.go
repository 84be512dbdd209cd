// Package notice is the form of what people are told of requests for approval, and
// of profiles that wait for a confirmation: the event itself, and its words. It is
// pure.
//
// An event has a number within its organization, and those who follow the events
// (the inboxes of people, the webhooks, the stream of the queue) each remember the
// last number they have told. The words are the same everywhere, and
// deterministic.
//
// Much of an event was chosen by an agent: the names of tool and server, its
// arguments. In words they are one line of bounded length without characters that
// steer a terminal or turn the direction of text; what must be escaped beside that
// depends on where the words go, and is done there.
package notice

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind is what happened to a request, or to a profile.
type Kind string

// The kinds of events.
const (
	Opened    Kind = "approval.opened"
	Voted     Kind = "approval.voted" // a yes that is not enough yet
	Approved  Kind = "approval.approved"
	Rejected  Kind = "approval.rejected"
	Cancelled Kind = "approval.cancelled"
	Expired   Kind = "approval.expired"
	Used      Kind = "approval.used"
	Revoked   Kind = "approval.revoked" // a wider yes was taken back
)

// Kinds lists every kind: those of requests in the order of a request's life.
func Kinds() []Kind {
	return []Kind{Opened, Voted, Approved, Rejected, Cancelled, Expired, Used, Revoked, ProfileProposed}
}

// Settles reports whether nobody has to answer the request any more.
func (k Kind) Settles() bool {
	return k == Approved || k == Rejected || k == Cancelled || k == Expired
}

// Event is something that happened to a request for approval, or to a profile.
type Event struct {
	OrgID   string
	Number  int64 // within the organization, from 1, without gaps
	Kind    Kind
	At      time.Time
	ActorID string // who did it; empty: nobody, or the passing of time
	Request Request
	// Proposal is what the event is about in place of a request; nil: a request.
	Proposal *Proposal
}

// Request is what the event is about, as it stands now. What was not stated is
// empty.
type Request struct {
	ID      string
	OwnAsk  bool // the answer is wanted of OwnerID alone
	OwnerID string
	Role    string // that an approver must have; empty: any that may approve
	Status  string

	Server, Tool, AgentID, SessionID, PlanID, KeyID, Email string

	Reason  string // why a yes is needed
	Note    string // of who answered
	Risk    string // low, medium, high, critical; empty: unknown
	Reasons []string
	// Arguments are redacted JSON.
	Arguments string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// maxName bounds names that agents choose, in words.
const maxName = 120

// Name is the tool with its server.
func (r Request) Name() string {
	name := Line(r.Tool, maxName)
	if r.Server != "" {
		name = Line(r.Server+"."+r.Tool, maxName)
	}
	if name == "" {
		return "a tool without a name"
	}
	return plainly(name)
}

// plainly is a name as it is, or in quotes where it could pass for words of ours. What
// would be shown as a link is broken: mails and chats make links by themselves.
func plainly(name string) string {
	broken := strings.ReplaceAll(name, "://", ":/ /")
	for _, c := range broken {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._-:/@…", c) {
			return strconv.Quote(broken)
		}
	}
	return broken
}

// phrases say what happened, after the name of the tool.
var phrases = map[Kind]string{
	Opened:    "waits for an approval",
	Voted:     "got a yes, and needs another",
	Approved:  "was approved",
	Rejected:  "was rejected",
	Cancelled: "was cancelled by who asked",
	Expired:   "was not answered in time, and is denied",
	Used:      "ran by an approval",
	Revoked:   "may not run by an earlier approval any more",
}

// Title is the event in one line.
func (e Event) Title() string {
	if e.Proposal != nil {
		return e.Proposal.title()
	}
	phrase, ok := phrases[e.Kind]
	if !ok {
		phrase = "changed"
	}
	if e.Kind == Opened && e.Request.Risk != "" {
		return fmt.Sprintf("%s %s (risk: %s)", e.Request.Name(), phrase, Line(e.Request.Risk, maxName))
	}
	return e.Request.Name() + " " + phrase
}

// Link opens a request in a browser. It approves nothing: who follows it signs in,
// reads, and decides there.
func Link(publicURL, requestID string) string {
	return strings.TrimRight(publicURL, "/") + "/ui/approvals/" + url.PathEscape(requestID)
}

// Line is text of others as one harmless line of at most so many characters:
// control characters, and those that are not seen but change how the rest is read,
// become spaces.
func Line(text string, most int) string {
	var line strings.Builder
	count, gap := 0, false
	for _, r := range text {
		if r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			gap = count > 0
			continue
		}
		if gap {
			line.WriteByte(' ')
			count, gap = count+1, false
		}
		if count >= most {
			return strings.TrimRight(line.String(), " ") + "…"
		}
		line.WriteRune(r)
		count++
	}
	return line.String()
}
