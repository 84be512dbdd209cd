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
	HeaderTimestamp = "Writ-Timestamp" // when it was sent, in seconds since 1970
	HeaderSignature = "Writ-Signature" // v1= and the signature in hex
	HeaderDelivery  = "Writ-Delivery"  // its id, the same for every try
	HeaderEvent     = "Writ-Event"     // the kind of event
)

// secretPrefix shows what the secret is for.
const secretPrefix = "whsec_"

// Sign is the value of HeaderSignature: the HMAC-SHA256, under the webhook's secret,
// of the timestamp, a dot and the body. Signing the time keeps a recorded delivery
// from being sent again later.
func Sign(key secret.Text, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

func timestampOf(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
