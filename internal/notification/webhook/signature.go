package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"writ/internal/secret"
)

// The headers of a delivery.
const (
	HeaderTimestamp = "Writ-Timestamp" // seconds since 1970, when it was sent
	HeaderSignature = "Writ-Signature" // v1= and the signature in hex
	HeaderDelivery  = "Writ-Delivery"  // its id, the same at every try
	HeaderEvent     = "Writ-Event"     // the kind of event
)

// secretPrefix tells people what the secret is for.
const secretPrefix = "whsec_"

// Sign is the value of HeaderSignature: the HMAC-SHA256, under the webhook's
// secret, of the timestamp, a dot and the body. The time is signed with the body so
// that a delivery which somebody has recorded cannot be sent again later.
func Sign(key secret.Text, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

func timestampOf(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
