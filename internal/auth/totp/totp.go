// Package totp computes the codes of authenticator apps (RFC 6238): six digits, a new one every 30 seconds, by HMAC
// with SHA-1. Apps know other digits, steps and hashes, but many ignore them; these work in all.
//
// The package is pure and needs only the standard library. Its caller stores which step was used last, so that a code
// counts once.
package totp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what apps compute; HMAC does not rest on collisions
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"
)

const (
	// Digits is how many digits a code has.
	Digits = 6
	period = 30 // seconds of a step
	// skew is how many steps a phone's clock may differ, each way.
	skew    = 1
	keySize = 20 // bytes: the size that RFC 4226 recommends
)

// NewKey makes a random key.
func NewKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

// Text is a key as people type it into an app.
func Text(key []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(key)
}

// URI is what an app reads from a picture.
func URI(key []byte, issuer, account string) string {
	values := url.Values{}
	values.Set("secret", Text(key))
	values.Set("issuer", issuer)
	label := url.PathEscape(issuer) + ":" + url.PathEscape(account)
	return "otpauth://totp/" + label + "?" + values.Encode()
}

// Step is the number of the step that an instant is in.
func Step(at time.Time) int64 { return at.Unix() / period }

// Code is the code of a step.
func Code(key []byte, step int64) string {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(step))
	mac := hmac.New(sha1.New, key)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	number := binary.BigEndian.Uint32(sum[offset:offset+4]) & 0x7fffffff
	return fmt.Sprintf("%0*d", Digits, number%1_000_000)
}

// Match is the step around an instant that a code belongs to and that comes after another step; 0: none. It compares
// with every step, so that its time says nothing about the code.
func Match(key []byte, code string, at time.Time, after int64) int64 {
	var found int64
	for step := Step(at) - skew; step <= Step(at)+skew; step++ {
		same := subtle.ConstantTimeCompare([]byte(Code(key, step)), []byte(code)) == 1
		if same && step > after {
			found = step
		}
	}
	return found
}
