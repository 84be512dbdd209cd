package trust_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"writ/internal/intent/trust"
)

const proofHeader = `{"alg":"EdDSA","typ":"delegation-proof+jwt"}`

func part(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

var (
	asked  = trust.RequestOf("/iap/sdk/enforce", []byte(`{}`))
	held   = sha256.Sum256([]byte("token"))
	claims = fmt.Sprintf(`{"jti":"n","delegation":"d","ath":"%x","path":"/iap/sdk/enforce","body":"%x","iat":%d}`,
		held, asked.Body, now.Unix())
)

// proofOf is a proof whose maker chose its header and claims.
func proofOf(header, claims string, key ed25519.PrivateKey) string {
	signed := part(header) + "." + part(claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(signed)))
}

// TestHeadersOfProofs: a library may choose the order of the members and the space between them, and nothing else.
func TestHeadersOfProofs(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	delegate := fmt.Sprintf("%x", public(key))
	for header, good := range map[string]bool{
		proofHeader: true,
		`{"typ":"delegation-proof+jwt","alg":"EdDSA"}`:                     true,
		"{ \"alg\": \"EdDSA\",\r\n\t\"typ\": \"delegation-proof+jwt\" }\n": true,
		`{"kid":"mine","typ":"delegation-proof+jwt","alg":"EdDSA"}`:        true,
		`{"alg":"Ed\u0044SA","typ":"delegation-proof+jwt"}`:                true, // the same text in JSON

		``: false, `null`: false, `[]`: false, `{}`: false, `"EdDSA"`: false,
		`{"alg":"EdDSA"}`: false, `{"typ":"delegation-proof+jwt"}`: false,
		`{"alg":"none","typ":"delegation-proof+jwt"}`:                              false,
		`{"alg":"HS256","typ":"delegation-proof+jwt"}`:                             false,
		`{"alg":"eddsa","typ":"delegation-proof+jwt"}`:                             false,
		`{"alg":["EdDSA"],"typ":"delegation-proof+jwt"}`:                           false,
		`{"alg":null,"typ":"delegation-proof+jwt"}`:                                false,
		`{"Alg":"EdDSA","typ":"delegation-proof+jwt"}`:                             false,
		`{"alg":"EdDSA","typ":"JWT"}`:                                              false,
		`{"alg":"EdDSA","typ":"delegation+jwt"}`:                                   false,
		`{"alg":"EdDSA","typ":"application/delegation-proof+jwt"}`:                 false,
		`{"alg":"none","alg":"EdDSA","typ":"delegation-proof+jwt"}`:                false,
		`{"alg":"EdDSA","alg":"EdDSA","typ":"delegation-proof+jwt"}`:               false,
		`{"alg":"EdDSA","typ":"JWT","typ":"delegation-proof+jwt"}`:                 false,
		`{"alg":"EdDSA","typ":"delegation-proof+jwt","kid":null}`:                  false,
		`{"alg":"EdDSA","typ":"delegation-proof+jwt","kid":{"a":1}}`:               false,
		`{"alg":"EdDSA","typ":"delegation-proof+jwt","b64":false,"crit":["b64"]}`:  false,
		`{"alg":"EdDSA","typ":"delegation-proof+jwt","jwk":{"kty":"OKP","x":"A"}}`: false,
		proofHeader + proofHeader:                                                  false,
		proofHeader + "x":                                                          false,
		"\ufeff" + proofHeader:                                                     false,
		"{\"alg\":\"EdDSA\",\"typ\":\"delegation-proof+jwt\",\"kid\":\"\xff\"}":    false,
	} {
		p, err := trust.ReadProof(proofOf(header, claims, key))
		switch {
		case !good:
			if err == nil || !strings.Contains(err.Error(), "its header must be "+proofHeader) {
				t.Errorf("%q is answered %v", header, err)
			}
		case err != nil:
			t.Errorf("%q: %v", header, err)
		default:
			if err := p.Check(delegate, "d", held, asked, now); err != nil {
				t.Errorf("%q: %v", header, err)
			}
		}
	}
}

// TestUnreadableProofsAreToldSo: the answer names what is wrong with the proof, and not what it is of.
func TestUnreadableProofsAreToldSo(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	for name, c := range map[string]struct{ text, want string }{
		"no JWS":       {"proof", "three parts"},
		"two parts":    {part(proofHeader) + "." + part(claims), "three parts"},
		"padded":       {base64.URLEncoding.EncodeToString([]byte(proofHeader)) + ".e30.e30", "without padding"},
		"long":         {strings.Repeat("a", 5000), "longer than 4096 bytes"},
		"no nonce":     {proofOf(proofHeader, `{"delegation":"d"}`, key), "jti"},
		"a text":       {proofOf(proofHeader, `"d"`, key), "an object with jti"},
		"a time of it": {proofOf(proofHeader, `{"jti":"n","iat":"2030-03-17T17:46:40Z"}`, key), "iat in seconds"},
	} {
		_, err := trust.ReadProof(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s is answered %v", name, err)
			continue
		}
		if got := trust.Unreadable(err).Check(fmt.Sprintf("%x", public(key)), "d", held, asked, now); got == nil ||
			got.Error() != err.Error() {
			t.Errorf("%s is checked: %v", name, got)
		}
	}
}

// TestASpellingIsSigned: a proof whose header was spelled anew behind the maker's back counts no more.
func TestASpellingIsSigned(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	proof := proofOf(proofHeader, claims, key)
	_, rest, _ := strings.Cut(proof, ".")
	p, err := trust.ReadProof(part(`{"typ":"delegation-proof+jwt","alg":"EdDSA"}`) + "." + rest)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(fmt.Sprintf("%x", public(key)), "d", held, asked, now); err == nil ||
		!strings.Contains(err.Error(), "not signed") {
		t.Error(err)
	}
}
