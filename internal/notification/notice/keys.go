package notice

import (
	"fmt"
	"strings"
	"time"
)

// KeysHandedOver is the kind of event that somebody who left gave their keys to a person.
const KeysHandedOver Kind = "key.handed_over"

// HandedOver are API keys that a member who left gave to another person. That person must replace them: the former
// owner knows the secrets, so they end.
type HandedOver struct {
	OrgID string
	First string // the id of a key
	Keys  int
	Until time.Time
	At    time.Time
}

// Event is the hand-over as an event. It has no number: its notification is made in the change that it tells of.
func (h HandedOver) Event() Event {
	return Event{OrgID: h.OrgID, Kind: KeysHandedOver, At: h.At, About: &h}
}

// title says what to do, and until when.
func (h *HandedOver) title() string {
	until := h.Until.UTC().Format("15:04 UTC on 2 January 2006")
	if h.Keys == 1 {
		return "An API key of somebody who left is yours: rotate it by " + until + ", when its secret ends"
	}
	return fmt.Sprintf("%d API keys of somebody who left are yours: rotate them by %s, when their secrets end", h.Keys,
		until)
}

func (h *HandedOver) subject() string { return h.First }

func (h *HandedOver) link(publicURL string) string { return KeysLink(publicURL) }

// KeysLink opens the keys of an organization in a browser.
func KeysLink(publicURL string) string {
	return strings.TrimRight(publicURL, "/") + "/ui/settings/keys"
}
