package witness_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/internal/audit/ledger"
	"writ/internal/audit/witness"
	"writ/internal/outbound"
	"writ/internal/secret"
)

const installation = "test"

var key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))

// signed is a checkpoint of a log of so many entries, which are all the same.
func signed(t *testing.T, log string, epoch int64, size int, entry string) witness.Checkpoint {
	t.Helper()
	var tree ledger.Frontier
	for range size {
		tree.Add(ledger.LeafHash([]byte(entry)))
	}
	signer, err := ledger.NewSigner(installation, key)
	if err != nil {
		t.Fatal(err)
	}
	origin := ledger.Origin{Installation: installation, Log: log, Epoch: epoch}
	text, err := ledger.Checkpoint{Origin: origin, Size: tree.Size(), Root: tree.Root()}.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	return witness.Checkpoint{Log: log, Epoch: epoch, Size: tree.Size(), Signed: text}
}

func keys(t *testing.T) ledger.Keys {
	t.Helper()
	text, err := ledger.KeyText(installation, key.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ledger.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestReceiverRefusesContradictions sends what can follow, and what cannot.
func TestReceiverRefusesContradictions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.ndjson")
	now := time.Date(2031, 5, 1, 0, 0, 0, 0, time.UTC)
	token := secret.NewText("a-token-of-the-witness")
	var reported []string
	newReceiver := func() *witness.Receiver {
		r, err := witness.NewReceiver(witness.NewFile(path, func() time.Time { return now }), keys(t), token,
			func(err error) { reported = append(reported, err.Error()) })
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	receiver := newReceiver()
	send := func(bearer string, all ...witness.Checkpoint) int {
		body, err := json.Marshal(witness.Body{Checkpoints: all})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+bearer)
		answer := httptest.NewRecorder()
		receiver.ServeHTTP(answer, request)
		return answer.Code
	}
	forged := signed(t, "org", 0, 9, "x")
	forged.Signed = forged.Signed[:len(forged.Signed)-10] + "AAAAAAAA=\n"
	five := signed(t, "org", 0, 5, "x")
	for _, step := range []struct {
		what string
		send []witness.Checkpoint
		wait time.Duration
		want int
	}{
		{"the first", []witness.Checkpoint{five, signed(t, "other", 0, 2, "y")}, 0, http.StatusNoContent},
		{"the same again", []witness.Checkpoint{five}, time.Hour, http.StatusNoContent},
		{"more", []witness.Checkpoint{signed(t, "org", 0, 7, "x")}, 0, http.StatusNoContent},
		{"one that was overtaken", []witness.Checkpoint{signed(t, "org", 0, 6, "x")}, 0, http.StatusNoContent},
		{"fewer", []witness.Checkpoint{signed(t, "org", 0, 6, "x")}, time.Hour, http.StatusConflict},
		{"other entries", []witness.Checkpoint{signed(t, "org", 0, 7, "z")}, 0, http.StatusConflict},
		{"a restored log", []witness.Checkpoint{signed(t, "org", 4, 6, "x")}, 0, http.StatusNoContent},
		{"the epoch before", []witness.Checkpoint{signed(t, "org", 0, 9, "x")}, 0, http.StatusConflict},
		{"a forged one", []witness.Checkpoint{forged}, 0, http.StatusBadRequest},
	} {
		now, reported = now.Add(step.wait), nil
		for range 2 { // a server sends again what is refused
			if got := send(token.Reveal(), step.send...); got != step.want {
				t.Errorf("%s: %d, want %d", step.what, got, step.want)
			}
		}
		if refused := step.want != http.StatusNoContent; refused != (len(reported) == 1) {
			t.Errorf("%s: reported %q, want what is refused, once", step.what, reported)
		}
		receiver = newReceiver() // it goes on with its file
		if step.what == "more" {
			send(token.Reveal(), signed(t, "org", 0, 8, "x")) // so that it knows when
		}
	}
	reported = nil
	for range 3 {
		if got := send("another-token", five); got != http.StatusUnauthorized {
			t.Errorf("without the token: %d", got)
		}
	}
	now = now.Add(time.Minute)
	send("another-token", five)
	if len(reported) != 2 || !strings.Contains(reported[0], "WRIT_WITNESS_TOKEN") ||
		strings.Contains(reported[0], "another-token") {
		t.Errorf("reported %q, want requests without the token, once a minute", reported)
	}
}

// TestAWitnessThatCannotStoreSaysSo at its start, and later.
func TestAWitnessThatCannotStoreSaysSo(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	open := func(reported *[]error) (*witness.Receiver, error) {
		return witness.NewReceiver(witness.NewFile(filepath.Join(folder, "seen.ndjson"), time.Now), keys(t),
			secret.NewText("a-token-of-the-witness"), func(err error) { *reported = append(*reported, err) })
	}
	var reported []error
	if _, err := open(&reported); err == nil {
		t.Error("it starts without a folder for its file")
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	receiver, err := open(&reported)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(witness.Body{Checkpoints: []witness.Checkpoint{signed(t, "org", 0, 5, "x")}})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Authorization", "Bearer a-token-of-the-witness")
	answer := httptest.NewRecorder()
	receiver.ServeHTTP(answer, request)
	if answer.Code != http.StatusServiceUnavailable || len(reported) != 1 {
		t.Errorf("%d, reported %v; want 503 and one report", answer.Code, reported)
	}
}

// TestAFileThatACrashHasCut goes on, and reads without the piece.
func TestAFileThatACrashHasCut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.ndjson")
	file := witness.NewFile(path, time.Now)
	five, six := signed(t, "org", 0, 5, "x"), signed(t, "org", 0, 6, "x")
	if err := file.Send(t.Context(), []witness.Checkpoint{five, five}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.Send(t.Context(), []witness.Checkpoint{six}); err != nil {
		t.Fatal(err)
	}
	latest, err := file.Latest()
	if err != nil || latest["org"] != six.Signed {
		t.Errorf("latest = %v, %v", latest, err)
	}
	if err := witness.NewFile(t.TempDir(), time.Now).Send(t.Context(), []witness.Checkpoint{six}); err == nil {
		t.Error("a folder was written to")
	}
}

// TestTheServerSaysWhyAWitnessRefuses: the reason is bounded, printable, and without the token.
func TestTheServerSaysWhyAWitnessRefuses(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-witness"
	permit, err := outbound.ParsePermit("127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	post := outbound.New(outbound.Options{Permits: []outbound.Permit{permit}})
	defer post.Close()
	for status, want := range map[int]string{
		http.StatusBadRequest:   "it answered 400: ",
		http.StatusUnauthorized: "it answered 401: WRIT_WITNESS_TOKEN is not the token of the witness: ",
		http.StatusConflict:     "it has seen another history: ",
	} {
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the new key\x1b[2J "+token+strings.Repeat("x", 3000), status)
		}))
		err := witness.NewEndpoint(secret.NewText(endpoint.URL), secret.NewText(token), post).Send(t.Context(),
			[]witness.Checkpoint{signed(t, "org", 0, 1, "x")})
		endpoint.Close()
		if err == nil || !strings.HasPrefix(err.Error(), want+`"the new key\x1b[2J (the token)`) ||
			len(err.Error()) > 500 {
			t.Errorf("%d: %v, want %s and the reason", status, err, want)
		}
	}
}
