// Package webhook tells other systems what happens to requests for approval, and
// that a profile waits for a confirmation.
//
// Who administers an organization names targets: a generic one that takes our JSON,
// or an incoming webhook of Slack or Teams, which takes what those accept as it is.
// Each event becomes one delivery a target, in the transaction that moves the
// follower on, so that none is lost and none is made twice.
//
//	Enqueue ──> waiting ──2xx──> delivered
//	               ├──no answer, 429, 5xx──> again later, for a day ──> dead
//	               └──3xx, 4xx──> again a few times ──> dead
//
// Deliveries of one target go out in order: one that fails holds back those behind
// it until it is delivered or dead. Dead ones stay listed, and a person can have
// one sent again, as the last. A target at which nothing arrived for three days is
// disabled, visibly.
//
// Any replica sends. A target is leased by the one that is at it, so that no other
// sends to it meanwhile; where that one dies, the lease ends and another goes on.
// What was sent when the process died is sent again, under the same id: receivers
// see each delivery at least once.
//
// Every delivery is signed with the webhook's own secret, which is shown once. URL
// and secret are stored sealed: the URL of an incoming webhook is a credential.
// Arguments of calls are sent only where the webhook says so, redacted and cut.
// What a target answers is read up to a bound and not kept.
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

// Kind is what a target understands.
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
	Target        string        // as much of the URL as may be shown: scheme and host
	Events        []notice.Kind // that are told
	SendArguments bool
	CreatedAt     time.Time
	CreatedBy     string
	UpdatedAt     time.Time
	DeliveredAt   *time.Time // the last success
	FailingSince  *time.Time // nil: the last delivery succeeded, or there was none
	DisabledAt    *time.Time // nil: it is sent to
	Disabled      string     // why
	Waiting, Dead int        // deliveries

	sealedURL, sealedSecret []byte
}

// Enabled reports whether events are sent.
func (w *Webhook) Enabled() bool { return w.DisabledAt == nil }

// wants reports whether events of a kind are told.
func (w *Webhook) wants(kind notice.Kind) bool { return slices.Contains(w.Events, kind) }

// New is a webhook to be made. Without events it gets those that concern a person:
// opened, approved, rejected and expired.
type New struct {
	Name          string
	Kind          Kind
	URL           string
	Events        []notice.Kind
	SendArguments bool
}

// defaultEvents are those of a webhook that names none.
func defaultEvents() []notice.Kind {
	return []notice.Kind{notice.Opened, notice.Approved, notice.Rejected, notice.Expired}
}

// Change is what is to be changed of a webhook; nil leaves it.
type Change struct {
	Name          *string
	URL           *string
	Events        []notice.Kind
	SendArguments *bool
	Enabled       *bool
}

// Issued is a webhook with the one sight of its secret.
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

// shown is as much of a URL as is no secret.
func shown(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/…"
}
