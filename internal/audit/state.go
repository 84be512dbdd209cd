package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// state is what the entries of a log say that is looked up without reading them. It
// stands in the log's head under a seal, because what finds entries can be altered.
type state struct {
	// Policies is what the last entry with that member says; empty: none has it.
	Policies string `json:"policies,omitzero"`
	// Logs is how many logs were begun, and Anchors one more than the index of the last
	// entry that anchors them, or 0. Both are System's.
	Logs    int64 `json:"logs,omitzero"`
	Anchors int64 `json:"anchors,omitzero"`
}

// text is the state as a head holds it.
func (s state) text() string {
	if s == (state{}) {
		return ""
	}
	text, _ := json.Marshal(s) // two numbers and a text
	return string(text)
}

// readState reads the state of a head whose seal was checked.
func (h *Head) readState() (s state, err error) {
	if h.state == "" {
		return state{}, nil
	}
	if err := json.Unmarshal([]byte(h.state), &s); err != nil {
		return state{}, fmt.Errorf("the state of log %s: %w", h.Log, err)
	}
	return s, nil
}

// sealKey is the key of seals that belongs to a key of checkpoints. A seal is no
// signature: only servers of the installation check it, and every commit makes one.
func sealKey(private ed25519.PrivateKey) ([]byte, error) {
	return hkdf.Key(sha256.New, private.Seed(), nil, "writ/head/v1", sha256.Size)
}

func sealOf(key []byte, h *Head) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(h.Checkpoint))
	mac.Write([]byte(h.state))
	return hex.EncodeToString(mac.Sum(nil))
}

// isSealed reports whether one of the keys sealed the head.
func (h *Head) isSealed(keys [][]byte) bool {
	for _, key := range keys {
		if hmac.Equal([]byte(sealOf(key, h)), []byte(h.seal)) {
			return true
		}
	}
	return false
}

var (
	errUnsealed    = errors.New("what its head says of policies and logs is not sealed")
	errBadlySealed = errors.New("what its head says of policies and logs is not what was sealed")
	errNoRoot      = errors.New("the entries do not give the root of the log's head")
)

// sealHeads seals the heads of logs that have no seal, or a wrong one, by what their
// entries say: those of an older server have none. It reads these logs whole. A log whose
// entries are not those that were signed keeps the seal it has, and is refused.
func (l *Log) sealHeads(ctx context.Context) error {
	heads, err := readSignedHeads(ctx, l.db, 0)
	if err != nil {
		return err
	}
	for i := range heads {
		h := &heads[i]
		if h.Size == 0 || h.isSealed(l.trust.sealKeys()) || l.proveSignature(ctx, l.db, h) != nil ||
			h.isSealed(l.trust.sealKeys()) { // perhaps by a key that another process has made
			continue
		}
		if h.seal != "" {
			l.trust.noteResealed(h.Log)
		}
		if err := l.sealAnew(ctx, h.Log); err != nil && !errors.Is(err, errNoRoot) {
			return fmt.Errorf("seal the head of log %s: %w", h.Log, err)
		}
	}
	return nil
}

// sealAnew writes the state of a log that follows from its entries.
func (l *Log) sealAnew(ctx context.Context, log string) error {
	head, err := ReadHead(ctx, l.db, log)
	if err != nil {
		return err
	}
	// Most of it without holding up others.
	read := newStateReader(log)
	if err := read.until(ctx, l.db, head.Size); err != nil {
		return err
	}
	return l.db.Write(ctx, database.Change{Logs: []string{log}, Do: func(ctx context.Context, tx *database.Tx) error {
		now, err := ReadHead(ctx, tx, log)
		if err != nil {
			return err
		}
		if err := read.until(ctx, tx, now.Size); err != nil {
			return err
		}
		if read.tree.Root() != now.Root() {
			return errNoRoot
		}
		now.state = read.state.text()
		now.seal = l.signerIn(tx).seal(&now)
		_, err = tx.Exec(ctx, `UPDATE audit_head SET state = $2, seal = $3 WHERE log = $1`, log, now.state, now.seal)
		return err
	}})
}

// proveEntries is proveHead for a head that may have no seal, such as that of a backup by
// an older server: its entries then must give its root.
func (l *Log) proveEntries(ctx context.Context, h *Head) error {
	if err := l.proveSignature(ctx, l.db, h); err != nil || h.isSealed(l.trust.sealKeys()) {
		return err
	}
	read := newStateReader(h.Log)
	err := read.until(ctx, l.db, h.Size)
	if err == nil && read.tree.Root() != h.Root() {
		err = errNoRoot
	}
	if errors.Is(err, errNoRoot) {
		return &HeadError{h.Log, err}
	}
	return err
}

// stateReader derives the state of a log from its entries, in their order.
type stateReader struct {
	log   string
	tree  ledger.Frontier
	logs  map[string]bool // that System tells of
	state state
}

func newStateReader(log string) *stateReader { return &stateReader{log: log, logs: map[string]bool{}} }

// until reads on until the log has so many entries.
func (s *stateReader) until(ctx context.Context, r database.Reader, size int64) error {
	for s.tree.Size() < size {
		from := s.tree.Size()
		records, err := database.Collect(ctx, r, func(row database.Scanner) (text string, err error) {
			err = row.Scan(&text)
			return text, err
		}, `
			SELECT record
			FROM audit_entry
			WHERE log = $1 AND position >= $2 AND position < $3
			ORDER BY position`, s.log, from, min(from+checkRows, size))
		if err != nil {
			return fmt.Errorf("read log %s from %d: %w", s.log, from, err)
		}
		if len(records) == 0 {
			return errNoRoot // some are missing
		}
		for _, record := range records {
			s.tree.Add(ledger.LeafHash([]byte(record)))
			if err := s.read(ctx, r, record); err != nil {
				return err
			}
		}
	}
	return nil
}

// read takes up what one record says.
func (s *stateReader) read(ctx context.Context, r database.Reader, text string) error {
	if s.log != System && !strings.Contains(text, `"policies":`) {
		return nil
	}
	record, err := ledger.ReadRecord([]byte(text))
	if err != nil {
		return errNoRoot
	}
	switch {
	case record.Policies != "":
		s.state.Policies = record.Policies
	case record.Log == System && record.Action == ledger.Begun:
		s.logs[record.Subject.ID] = true
	case record.Log == System && record.Action == ledger.Anchored:
		entry, err := readEntry(ctx, r, System, record.Index)
		if err != nil && !errors.Is(err, errTree) {
			return err
		}
		anchors, err := entry.anchors()
		if err != nil {
			return errNoRoot // it was altered
		}
		for _, a := range anchors.Logs {
			s.logs[a.Log] = true
		}
		s.state.Anchors = record.Index + 1
	}
	s.state.Logs = int64(len(s.logs))
	return nil
}
