package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/principal"
)

// The System log keeps the others: it has an entry for each that begins, and anchors what
// they have become from time to time. So a log that is gone, or was put back to what it
// once was, is found, unless System was put back with it.

// anchor is a log as System has seen it.
type anchor struct {
	Log   string      `json:"log"`
	Epoch int64       `json:"epoch"`
	Size  int64       `json:"size"`
	Root  ledger.Hash `json:"root"`
}

// anchors is the payload of an entry that anchors logs.
type anchors struct {
	Logs []anchor `json:"logs"`
	// Previous is the index of the entry before that does, or -1.
	Previous int64 `json:"previous"`
}

// maxAnchors is how many logs one entry anchors.
const maxAnchors = 1000

// Begin begins the log of an organization, in the transaction that creates it: the change
// declares both that log and System. Nothing can be appended to a log that was not begun.
func (l *Log) Begin(ctx context.Context, tx *database.Tx, actor principal.Principal, log string) error {
	if !tx.HoldsLog(log) || !tx.HoldsLog(System) {
		return fmt.Errorf("begin log %s: the change does not declare it and %s", log, System)
	}
	head, err := ReadHead(ctx, tx, log)
	if err != nil {
		return err
	}
	if head.Log != "" {
		return fmt.Errorf("begin log %s: there is one", log)
	}
	if _, err := l.run(ctx, tx, Head{Log: log}, true); err != nil {
		return err
	}
	_, err = l.Append(ctx, tx, Entry{
		Log:         System,
		Action:      ledger.Begun,
		Actor:       actor,
		Subject:     Subject{Type: "log", ID: log},
		Observation: true,
	})
	return err
}

// mayBegin reports whether a log without entries may get its first one in this
// transaction although nobody has begun it: without the list of keys nobody can tell a
// first start from a log that was taken away.
func (l *Log) mayBegin(tx *database.Tx, log string) bool {
	return !l.checks() || l.known == nil || log == System && *l.first.In(tx) != nil
}

// Anchor puts into System what the other logs have become since they were anchored last.
func (l *Log) Anchor(ctx context.Context) error {
	last, since, err := l.lastAnchors(ctx)
	if err != nil {
		return err
	}
	signed, _, err := l.signedHeads(ctx, since)
	if err != nil {
		return err
	}
	var grown []anchor
	for _, h := range signed {
		a := anchor{h.Log, h.Epoch, h.Size, h.Root()}
		if h.Log != System && !slices.Contains(last.Logs, a) {
			grown = append(grown, a)
		}
	}
	for chunk := range slices.Chunk(grown, maxAnchors) {
		if err := l.anchor(ctx, chunk); err != nil {
			return fmt.Errorf("anchor the logs: %w", err)
		}
	}
	return nil
}

func (l *Log) anchor(ctx context.Context, logs []anchor) error {
	return l.db.Write(ctx, database.Change{Logs: []string{System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		r, err := l.runningIn(ctx, tx, System)
		if err != nil {
			return err
		}
		now, err := r.head.readState()
		if err != nil {
			return err
		}
		_, err = l.Append(ctx, tx, Entry{
			Log: System, Action: ledger.Anchored, Actor: principal.Operator(),
			Subject: Subject{Type: "log", ID: System},
			Payload: anchors{Logs: logs, Previous: now.Anchors - 1}, Observation: true,
		})
		return err
	}})
}

// lastAnchors is the last entry with anchors, and the instant since which logs may have
// changed.
func (l *Log) lastAnchors(ctx context.Context) (last anchors, since int64, err error) {
	head, err := ReadHead(ctx, l.db, System)
	if err != nil {
		return anchors{}, 0, err
	}
	now, err := head.readState()
	if err != nil || now.Anchors == 0 {
		return anchors{}, 0, err
	}
	entry, err := readEntry(ctx, l.db, System, now.Anchors-1)
	if err != nil {
		return anchors{}, 0, err
	}
	last, err = entry.anchors()
	return last, entry.Time - overlap, err
}

// anchors reads the payload, which must be the one that the record commits to.
func (s *Stored) anchors() (a anchors, err error) {
	record, err := s.Parse()
	if err == nil && ledger.Commitment(s.Salt, []byte(s.Payload)) != record.Payload {
		err = errors.New("the payload is not the one that the record commits to")
	}
	if err != nil {
		return anchors{}, fmt.Errorf("entry %d of log %s: %w", s.Index, System, err)
	}
	if err := json.Unmarshal([]byte(s.Payload), &a); err != nil {
		return anchors{}, fmt.Errorf("entry %d of log %s: its anchors cannot be read: %w", s.Index, System, err)
	}
	return a, nil
}

// CheckKept compares the logs that there are with what System says of them, and gives each
// that is gone, or not the one that was anchored.
func (l *Log) CheckKept(ctx context.Context, found func(Problem)) error {
	system, err := l.Evidence(ctx, System)
	if err != nil {
		return err
	}
	known, err := l.knownState(ctx, &system.head)
	if err != nil {
		return err
	}
	// System is read first: a log that begins meanwhile is not looked for.
	heads, err := readSignedHeads(ctx, l.db, 0)
	if err != nil {
		return err
	}
	there := map[string]*Head{}
	for i := range heads {
		if h := &heads[i]; (h.Size > 0 || h.damaged) && h.Log != System {
			there[h.Log] = h
		}
	}
	gone := map[string]bool{}
	once := func(p Problem) { // a log that began and was anchored is gone once
		if p.Kind != BadLog || !gone[p.Log] {
			found(p)
		}
		gone[p.Log] = gone[p.Log] || p.Kind == BadLog
	}
	if int64(len(there)) < known.Logs {
		if err := l.findGone(ctx, &system.head, there, known.Logs, once); err != nil {
			return err
		}
	}
	return l.checkAnchors(ctx, system, known.Anchors-1, there, once)
}

// knownState is the state of a log. A restore cannot rely on the seal.
func (l *Log) knownState(ctx context.Context, h *Head) (state, error) {
	if !l.restoring || h.isSealed(l.trust.sealKeys()) {
		return h.readState()
	}
	read := newStateReader(h.Log)
	if err := read.until(ctx, l.db, h.Size); err != nil && !errors.Is(err, errNoRoot) {
		return state{}, err
	}
	return read.state, nil
}

// findGone reads System whole, to name the logs that are gone.
func (l *Log) findGone(
	ctx context.Context, system *Head, there map[string]*Head, begun int64, found func(Problem),
) error {
	read := newStateReader(System)
	if err := read.until(ctx, l.db, system.Size); err != nil && !errors.Is(err, errNoRoot) {
		return err
	}
	named := false
	for log := range read.logs {
		if there[log] == nil {
			found(Problem{Log: log, Kind: BadLog, Message: "the log is gone: the System log says that it was begun"})
			named = true
		}
	}
	if !named {
		found(Problem{Log: System, Kind: BadLog, Message: fmt.Sprintf(
			"%d logs were begun and %d are there; which are gone cannot be read", begun, len(there))})
	}
	return nil
}

// checkAnchors compares each log with its last anchor, from that entry of System back, and
// the anchors of a log with each other.
func (l *Log) checkAnchors(
	ctx context.Context, system *Evidence, index int64, there map[string]*Head, found func(Problem),
) error {
	last := map[string]anchor{}
	for index >= 0 {
		said, err := l.provedAnchors(ctx, system, index)
		if err != nil {
			found(Problem{
				Log: System, Kind: BadAnchor, Entries: ledger.Range{First: index, Last: index}.String(),
				Message: "what logs are compared with cannot be proved: " + err.Error(),
			})
			return ctx.Err()
		}
		for _, a := range said.Logs {
			later, seen := last[a.Log]
			head := there[a.Log]
			if !seen {
				last[a.Log] = a
			}
			switch {
			case head == nil: // one that an older server began has no entry that says so
				found(Problem{Log: a.Log, Kind: BadLog, Message: "the log is gone: the System log has anchored it"})
			case !seen:
				err = l.begins(ctx, head, a)
			case later.Epoch == a.Epoch && later.Size < a.Size && head.Epoch == a.Epoch:
				err = fmt.Errorf("%w: it was seen with %d entries, and later with %d", ErrNotCovered, a.Size,
					later.Size)
			}
			if errors.Is(err, ErrNotCovered) {
				found(Problem{Log: a.Log, Kind: BadAnchor, Message: err.Error()})
			} else if err != nil {
				return err
			}
			err = nil
		}
		index = min(said.Previous, index-1)
	}
	return nil
}

func (l *Log) provedAnchors(ctx context.Context, system *Evidence, index int64) (anchors, error) {
	entry, err := readEntry(ctx, l.db, System, index)
	if err == nil {
		_, err = system.Prove(&entry)
	}
	if err != nil {
		return anchors{}, err
	}
	return entry.anchors()
}

// begins reports whether a log begins with what was seen of it. An error says how it does
// not.
func (l *Log) begins(ctx context.Context, head *Head, seen anchor) error {
	switch {
	case seen.Epoch < head.Epoch:
		return nil // it was restored since, and says so
	case seen.Epoch > head.Epoch || seen.Size > head.Size:
		return fmt.Errorf("%w: it was seen with %d entries in epoch %d, and has %d in epoch %d", ErrNotCovered,
			seen.Size,
			seen.Epoch, head.Size, head.Epoch)
	}
	root := head.Root()
	if seen.Size < head.Size {
		began, err := ledger.FrontierOf(seen.Size, treeOf(ctx, l.db, seen.Log, head.Size))
		if errors.Is(err, errTree) {
			return fmt.Errorf("%w: %w", ErrNotCovered, err)
		}
		if err != nil {
			return err
		}
		root = began.Root()
	}
	if root != seen.Root {
		return fmt.Errorf("%w: its first %d entries are not those that were seen", ErrNotCovered, seen.Size)
	}
	return nil
}
