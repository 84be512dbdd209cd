package witness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"writ/internal/audit/ledger"
	"writ/internal/secret"
)

// Receiver takes what an Endpoint sends and keeps it in a file: a witness on another
// machine. It refuses what contradicts what it has seen.
type Receiver struct {
	file   *File
	keys   ledger.Keys
	token  secret.Text
	report func(error)

	mu      sync.Mutex
	told    string                       // what was reported last: a server sends the same again every ten seconds
	strange time.Time                    // when a request without the token was reported last
	latest  map[string]ledger.Checkpoint // by log
	at      map[string]time.Time         // when the latest came
}

// lateness is how much later than a larger checkpoint a smaller one may arrive: replicas
// send on their own.
const lateness = time.Minute

// NewReceiver makes a receiver for a server with these keys, which goes on with its file. What it refuses or cannot
// store it reports: whoever altered the server's data may also keep what the server says of it.
func NewReceiver(file *File, keys ledger.Keys, token secret.Text, report func(error)) (*Receiver, error) {
	r := &Receiver{file: file, keys: keys, token: token, report: report,
		latest: map[string]ledger.Checkpoint{}, at: map[string]time.Time{}}
	if err := file.append(nil); err != nil {
		return nil, err // now, and not when the first checkpoint comes
	}
	seen, err := file.Latest()
	if err != nil {
		return nil, err
	}
	for log, signed := range seen {
		if r.latest[log], err = ledger.OpenCheckpoint(signed, keys); err != nil {
			return nil, fmt.Errorf("the last checkpoint of log %s in the witness file: %w", log, err)
		}
	}
	return r, nil
}

// maxReceived is how large a request may be.
const maxReceived = 1 << 20

// ServeHTTP takes checkpoints: 204 when they are on disk, 409 when they contradict what
// was seen before.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		http.Error(w, "send checkpoints by POST", http.StatusMethodNotAllowed)
		return
	}
	if !r.token.Equal(bearer(request)) {
		r.tellStrange()
		http.Error(w, "send Authorization: Bearer with the token of this witness", http.StatusUnauthorized)
		return
	}
	var body Body
	if err := json.NewDecoder(http.MaxBytesReader(w, request.Body, maxReceived)).Decode(&body); err != nil {
		http.Error(w, "the body is not a list of checkpoints", http.StatusBadRequest)
		return
	}
	err := r.take(request.Context(), body.Checkpoints)
	r.tell(err)
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, errContradiction):
		http.Error(w, err.Error(), http.StatusConflict)
	case errors.Is(err, errRefused):
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		http.Error(w, "the checkpoints could not be stored", http.StatusServiceUnavailable)
	}
}

// tell reports what came of a request, once for as long as it is the same.
func (r *Receiver) tell(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.told = ""
	} else if said := err.Error(); said != r.told {
		r.told = said
		r.report(err)
	}
}

// tellStrange reports a request without the token, once a minute: anybody can send some.
func (r *Receiver) tellStrange() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.file.now(); r.strange.IsZero() || now.Sub(r.strange) >= time.Minute {
		r.strange = now
		r.report(errStrange)
	}
}

func bearer(request *http.Request) string {
	const scheme = "Bearer "
	if header := request.Header.Get("Authorization"); len(header) > len(scheme) && header[:len(scheme)] == scheme {
		return header[len(scheme):]
	}
	return ""
}

var (
	errContradiction = errors.New("it contradicts what was seen before")
	errRefused       = errors.New("not a checkpoint of the server that is witnessed, or of a key that is not in the file " +
		"of keys: after a rotation add the new key to it, and start the witness again")
	errStrange = errors.New("a request without the token of this witness, which WRIT_WITNESS_TOKEN of the server must be")
)

// take checks checkpoints and stores those that are new.
func (r *Receiver) take(ctx context.Context, all []Checkpoint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var news []Checkpoint
	taken := map[string]ledger.Checkpoint{}
	for _, c := range all {
		now, err := ledger.OpenCheckpoint(c.Signed, r.keys)
		if err != nil {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
		log := now.Origin.Log
		before, seen := r.latest[log]
		if again, ok := taken[log]; ok {
			before, seen = again, true
		}
		switch {
		case seen && now == before:
			continue
		case seen && isLate(before, now) && r.file.now().Sub(r.at[log]) < lateness:
			continue
		case seen && !follows(before, now):
			return fmt.Errorf("log %s: %w: %d entries in epoch %d after %d in epoch %d", log, errContradiction,
				now.Size,
				now.Origin.Epoch, before.Size, before.Origin.Epoch)
		}
		taken[log] = now
		news = append(news, c)
	}
	if len(news) == 0 {
		return nil
	}
	if err := r.file.Send(ctx, news); err != nil {
		return err
	}
	for log, now := range taken {
		r.latest[log], r.at[log] = now, r.file.now()
	}
	return nil
}

// isLate reports whether a checkpoint may have been overtaken by another one.
func isLate(before, now ledger.Checkpoint) bool {
	return now.Origin == before.Origin && now.Size < before.Size
}

// follows reports whether a checkpoint can come after another one of its log. Whether the
// log only grew is for a verifier to check, by the entries.
func follows(before, now ledger.Checkpoint) bool {
	if now.Origin.Installation != before.Origin.Installation || now.Origin.Epoch < before.Origin.Epoch {
		return false
	}
	return now.Origin.Epoch > before.Origin.Epoch || now.Size > before.Size
}
