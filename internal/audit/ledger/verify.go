package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// ErrUntrustedKey: the key that an export names is none of those that the verifier trusts.
var ErrUntrustedKey = errors.New("the export names a key that is not trusted here")

// Trust is what a verifier knows beforehand.
type Trust struct {
	// Keys are the keys of the installation, not from the export. Without any, the key
	// in the file proves only that the file is whole.
	Keys Keys
	// Earlier is a signed checkpoint that was seen before; empty: none.
	Earlier string
	// Witnessed are the signed checkpoints that a witness has seen, of any log; nil: no
	// witness is asked. At least one must be of this log and within the export.
	Witnessed []string
}

// Report says what an export holds.
type Report struct {
	Origin   Origin `json:"-"`
	Log      string `json:"log"`
	Epoch    int64  `json:"epoch"`
	From     int64  `json:"from"`     // first entry in the export
	Size     int64  `json:"size"`     // entries in the log
	Root     Hash   `json:"root"`     // of the whole log
	Payloads int64  `json:"payloads"` // present and checked
	Erased   int64  `json:"erased"`   // committed to, but not there
	// WithoutPayloads: the export was made for a reader who may not see payloads, and
	// erasures were not checked.
	WithoutPayloads bool `json:"withoutPayloads,omitzero"`
	// KillsBefore: the export does not begin with the log, so that what the kill switch stopped before it, and did not
	// lift, was not followed.
	KillsBefore bool      `json:"killsBefore,omitzero"`
	Restores    []Restore `json:"restores"` // times the log went on from a backup
	KeyFromFile bool      `json:"keyFromFile"`
	Earlier     *Seen     `json:"earlier,omitzero"`
	// Witnessed is the latest checkpoint of the witness that the export was compared
	// with, and Compared how many there were.
	Witnessed *Seen `json:"witnessed,omitzero"`
	Compared  int   `json:"compared,omitzero"`
}

// Restore is where the log continued from a backup under another epoch.
type Restore struct {
	Index int64 `json:"index"` // of the entry that says so
	Epoch int64 `json:"epoch"` // that began there
	// Known: the restore could compare with what it replaced. Lost is how many entries
	// of the epoch before there were from Index on.
	Known bool  `json:"known"`
	Lost  int64 `json:"lost"`
	// Unproved: what the log went on from carried no signature of the installation.
	Unproved bool `json:"unproved,omitzero"`
}

// Seen is an earlier checkpoint that the export was compared with.
type Seen struct {
	Epoch int64 `json:"epoch"`
	Size  int64 `json:"size"`
}

// GoneError: the log admits that it lost entries that an earlier checkpoint covers,
// because it was restored from a backup.
type GoneError struct{ From, Until, Epoch int64 }

func (e *GoneError) Error() string {
	what := fmt.Sprintf("entries %d to %d, which the earlier checkpoint covers, are gone", e.From, e.Until-1)
	if e.From == e.Until-1 {
		what = fmt.Sprintf("entry %d, which the earlier checkpoint covers, is gone", e.From)
	}
	return fmt.Sprintf("%s: the log was restored from a backup (epoch %d)", what, e.Epoch)
}

// Verify reads an export and checks all of it: every record, payload and leaf, the order
// and number of entries, the root and its signature, and that the log begins with what
// earlier checkpoints cover. It keeps one line in memory, and where the payloads are that
// no entry has accounted for yet. With an error the report is empty.
func Verify(r io.Reader, trust Trust) (Report, error) {
	v := verifier{lines: bufio.NewReaderSize(r, 64<<10)}
	if err := v.begin(trust); err != nil {
		return Report{}, err
	}
	for v.tree.size < v.target.Size {
		if err := v.entry(); err != nil {
			return Report{}, err
		}
	}
	if err := v.end(); err != nil {
		return Report{}, err
	}
	return v.report, nil
}

// maxRestores is how many are reported: a hostile file must not fill the memory.
const maxRestores = 1000

type verifier struct {
	lines   *bufio.Reader
	line    int // number of the one read last
	buffer  []byte
	target  Checkpoint
	earlier []Checkpoint // still to be met, by size
	gone    *GoneError
	missing Erasures
	stops   stops
	tree    Frontier
	epoch   int64 // of the entry before; -1: not in the export
	report  Report
}

func (v *verifier) begin(trust Trust) error {
	text, err := v.next()
	if err != nil {
		return err
	}
	header, err := parseHeader(text)
	if err != nil {
		return v.at(err)
	}
	key, err := ParseKey(header.Key)
	if err != nil {
		return v.at(err)
	}
	keys := trust.Keys
	if v.report.KeyFromFile = len(keys) == 0; v.report.KeyFromFile {
		keys = Keys{key}
	} else if !keys.holds(key.text) {
		return v.at(ErrUntrustedKey)
	}
	if v.target, err = openExactly(header.Checkpoint, Keys{key}); err != nil {
		return v.at(err)
	}
	if v.tree, err = header.before(); err != nil {
		return v.at(err)
	}
	if v.tree.size > v.target.Size {
		return v.at(fmt.Errorf("the export begins at entry %d of a log of %d entries", v.tree.size, v.target.Size))
	}
	if v.epoch = -1; v.tree.size == 0 {
		v.epoch = 0
	}
	v.describe()
	v.report.WithoutPayloads = header.WithoutPayloads
	return v.compare(trust, keys)
}

func (v *verifier) describe() {
	v.report.Origin, v.report.Log, v.report.Epoch = v.target.Origin, v.target.Origin.Log, v.target.Origin.Epoch
	v.report.From, v.report.Size, v.report.Root = v.tree.size, v.target.Size, v.target.Root
	v.report.Restores = []Restore{}
	v.report.KillsBefore = v.tree.size > 0
}

func (v *verifier) entry() error {
	text, err := v.next()
	if err != nil {
		return err
	}
	l, err := parseLine(text)
	if err != nil {
		return v.at(err)
	}
	record, erased, err := l.check()
	if err != nil {
		return v.at(err)
	}
	if record.Log != v.target.Origin.Log || record.Index != v.tree.size {
		return v.at(fmt.Errorf("entry %d of log %s is expected here", v.tree.size, v.target.Origin.Log))
	}
	if err := v.follow(record, l.payload); err != nil {
		return v.at(err)
	}
	if err := v.payload(&record, l.payload, erased); err != nil {
		return v.at(err)
	}
	v.tree.Add(LeafHash(l.record))
	return v.meetEarlier()
}

// payload counts a payload, and compares those that are gone with what the log says of
// them.
func (v *verifier) payload(record *Record, payload []byte, erased bool) error {
	switch {
	case erased:
		v.report.Erased++
	case payload != nil:
		v.report.Payloads++
	}
	if v.report.WithoutPayloads {
		if payload != nil {
			return errors.New("there is a payload in an export without payloads")
		}
		return nil
	}
	if erased {
		return v.missing.Missing(record)
	}
	return v.missing.Account(record, payload)
}

// follow checks that an epoch begins with the entry that says why, and nowhere else.
func (v *verifier) follow(record Record, payload []byte) error {
	restored := record.Action == Restored
	begins := v.epoch >= 0 && record.Epoch > v.epoch || v.epoch < 0 && restored
	if v.epoch >= 0 && record.Epoch < v.epoch || begins != restored {
		return fmt.Errorf("epoch %d does not follow epoch %d without the log saying that it was restored", record.Epoch,
			v.epoch)
	}
	v.epoch = record.Epoch
	if err := v.stops.follow(&record, payload); err != nil {
		return err
	}
	if !restored {
		return nil
	}
	restore := Restore{Index: record.Index, Epoch: record.Epoch}
	var lost struct {
		Known    bool  `json:"known"`
		Entries  int64 `json:"entries"`
		Unproved bool  `json:"unproved"`
	}
	if payload != nil && json.Unmarshal(payload, &lost) == nil {
		restore.Known, restore.Lost, restore.Unproved = lost.Known, lost.Entries, lost.Unproved
	}
	if len(v.report.Restores) < maxRestores {
		v.report.Restores = append(v.report.Restores, restore)
	}
	v.dropGone(record)
	return nil
}

func (v *verifier) end() error {
	if _, err := v.lines.ReadByte(); err != io.EOF {
		return fmt.Errorf("after line %d: %w", v.line,
			errors.Join(errors.New("there is more than the checkpoint covers"), err))
	}
	switch {
	case v.tree.Root() != v.target.Root:
		return errors.New("the entries do not give the root that the checkpoint signs")
	case v.epoch >= 0 && v.epoch != v.target.Origin.Epoch:
		return fmt.Errorf("the checkpoint is of epoch %d, and the last entry of epoch %d", v.target.Origin.Epoch,
			v.epoch)
	case v.gone != nil:
		return v.gone
	case len(v.earlier) > 0:
		return fmt.Errorf("the log has shrunk: an earlier checkpoint covers %d entries, the export's %d",
			v.earlier[0].Size, v.tree.size)
	}
	if gone := v.missing.Unaccounted(); len(gone) > 0 {
		return &UnaccountedError{Ranges: gone}
	}
	return nil
}

// next reads a line, without its end.
func (v *verifier) next() ([]byte, error) {
	v.line++
	v.buffer = v.buffer[:0]
	for {
		part, err := v.lines.ReadSlice('\n')
		v.buffer = append(v.buffer, part...)
		switch {
		case len(v.buffer) > maxLine:
			return nil, v.at(errors.New("the line is longer than any of an export"))
		case err == nil:
			return bytes.TrimSuffix(v.buffer, []byte("\n")), nil
		case err == io.EOF:
			return nil, v.at(errors.New("the export ends too early"))
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, v.at(fmt.Errorf("read: %w", err))
		}
	}
}

func (v *verifier) at(err error) error { return fmt.Errorf("line %d: %w", v.line, err) }
