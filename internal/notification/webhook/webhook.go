// Package webhook sends events about approval requests, and about profiles that need
// a confirmation, to other systems.
//
// The administrators of an organization set up targets: a generic one receives our
// JSON, an incoming webhook of Slack or Teams a message in its own format. Each event
// becomes one delivery per target, in the transaction that moves the follower's
// cursor, so that none is lost or made twice.
//
//	Enqueue ──> waiting ──2xx──> delivered
//	               ├──no answer, 429, 5xx──> again later, for a day ──> dead
//	               └──3xx, 4xx──> again a few times ──> dead
//
// Deliveries to one target go out in order: a failing one holds back the next ones
// until it is delivered or dead. Dead ones stay in the list, and a person can replay
// one, as the last. A target that received nothing for three days is disabled, and
// people are notified.
//
// Any replica sends. It leases a target, so that no other sends to it meanwhile; if
// the replica dies, the lease ends and another continues. A delivery that was under
// way is then sent again with the same id: receivers get each one at least once.
//
// Every delivery is signed with the webhook's own secret, which is shown once. URL
// and secret are stored sealed: the URL of an incoming webhook is a credential.
// Arguments of calls are sent only if the webhook asks for them, redacted and cut.
// A target's answer is read up to a limit and not stored.
package webhook

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/fault"
	"writ/internal/notification/notice"
	"writ/internal/secret"
)

const (
	// MaxPerOrganization is how many webhooks an organization may have.
	MaxPerOrganization = 20
	// MaxName is how long the name of a webhook may be, in characters.
	MaxName = 100
)

// Kind is the format that a target understands.
type Kind string

// The kinds of targets.
const (
	Generic Kind = "generic"
	Slack   Kind = "slack"
	Teams   Kind = "teams"
)

// Webhook is a target of an organization.
type Webhook struct {
	ID            string
	OrgID         string
	Name          string
	Kind          Kind
	Target        string        // scheme and host of the URL; the rest is secret
	Events        []notice.Kind // that are sent
	SendArguments bool
	CreatedAt     time.Time
	CreatedBy     string
	UpdatedAt     time.Time
	DeliveredAt   *time.Time // the last success
	FailingSince  *time.Time // nil: the last delivery succeeded, or there was none
	DisabledAt    *time.Time // nil: it is enabled
	Disabled      string     // why
	Waiting, Dead int        // deliveries

	sealedURL, sealedSecret []byte
}

// Enabled reports whether events are sent.
func (w *Webhook) Enabled() bool { return w.DisabledAt == nil }

// wants reports whether events of a kind are sent.
func (w *Webhook) wants(kind notice.Kind) bool { return slices.Contains(w.Events, kind) }

// New describes a webhook to be made. Without events it gets defaultEvents.
type New struct {
	Name          string
	Kind          Kind
	URL           string
	Events        []notice.Kind
	SendArguments bool
}

// defaultEvents are those that concern a person.
func defaultEvents() []notice.Kind {
	return []notice.Kind{notice.Opened, notice.Approved, notice.Rejected, notice.Expired}
}

// Change says what to change of a webhook; nil leaves a setting.
type Change struct {
	Name          *string
	URL           *string
	Events        []notice.Kind
	SendArguments *bool
	Enabled       *bool
}

// Issued is a webhook with its secret, which is shown only now.
type Issued struct {
	Webhook
	Secret secret.Text
}

func noSuchWebhook() error { return fault.New(fault.NotFound, "no such webhook") }

func checkName(name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxName || strings.TrimSpace(name) != name {
		return fault.Field("name", "must have 1-%d characters, without spaces around", MaxName)
	}
	for _, r := range name {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return fault.Field("name", "must not contain control characters")
		}
	}
	return nil
}

func checkKind(kind Kind) error {
	if kind != Generic && kind != Slack && kind != Teams {
		return fault.Field("kind", "must be generic, slack or teams")
	}
	return nil
}

func checkEvents(events []notice.Kind) error {
	for _, kind := range events {
		if !slices.Contains(notice.Kinds(), kind) {
			return fault.Field("events", "must be kinds of events")
		}
	}
	return nil
}

// displayURL is the part of a URL that is not secret.
func displayURL(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/…"
}
