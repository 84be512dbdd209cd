package ledger

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Origin names a history: the installation, the log, and the epoch, because a restored
// log is another history from then on.
type Origin struct {
	Installation string
	Log          string
	Epoch        int64
}

// String is writ/<installation>/log/<log>/epoch/<epoch>.
func (o Origin) String() string {
	return KeyName(o.Installation) + "/log/" + o.Log + "/epoch/" + strconv.FormatInt(o.Epoch, 10)
}

// ParseOrigin reads what String gives, and nothing else.
func ParseOrigin(text string) (Origin, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 6 {
		epoch, err := strconv.ParseInt(parts[5], 10, 64)
		o := Origin{Installation: parts[1], Log: parts[3], Epoch: epoch}
		if err == nil && epoch >= 0 && isOriginPart(o.Installation) && isOriginPart(o.Log) && o.String() == text {
			return o, nil
		}
	}
	return Origin{}, errors.New("the origin is not that of a log of Writ")
}

// isOriginPart reports whether text can be a part of an origin: letters, digits,
// hyphen, underscore and dot.
func isOriginPart(text string) bool {
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return text != ""
}

// Checkpoint says how large a log is and what is in it.
type Checkpoint struct {
	Origin Origin
	Size   int64
	Root   Hash
}

// Text is the body that is signed, in the form of c2sp.org/tlog-checkpoint:
// origin, size and root, a line each.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// Sign gives the checkpoint as a signed note.
func (c Checkpoint) Sign(s note.Signer) (string, error) {
	if !isOriginPart(c.Origin.Installation) || !isOriginPart(c.Origin.Log) {
		return "", fmt.Errorf("sign a checkpoint of log %q: not a name that an origin can hold", c.Origin.Log)
	}
	signed, err := note.Sign(&note.Note{Text: c.Text()}, s)
	if err != nil {
		return "", fmt.Errorf("sign the checkpoint of log %s: %w", c.Origin.Log, err)
	}
	return string(signed), nil
}

// OpenCheckpoint checks a signed checkpoint. One of the keys must have signed it, and be
// of the installation that it names. Others (witnesses) may have signed it too.
func OpenCheckpoint(signed string, keys Keys) (Checkpoint, error) {
	opened, err := note.Open([]byte(signed), note.VerifierList(keys.verifiers()...))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the checkpoint's signature: %w", noteError(err))
	}
	c, err := parseCheckpoint(opened.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	for _, signature := range opened.Sigs {
		if signature.Name == KeyName(c.Origin.Installation) {
			return c, nil
		}
	}
	return Checkpoint{}, errors.New("the checkpoint is signed with the key of another installation")
}

// OriginOf is the origin that a checkpoint names, whoever signed it.
func OriginOf(signed string) (Origin, error) {
	first, _, _ := strings.Cut(signed, "\n")
	return ParseOrigin(first)
}

// openExactly is OpenCheckpoint for one in an export: a single signature, in its one
// spelling.
func openExactly(signed string, keys Keys) (Checkpoint, error) {
	c, err := OpenCheckpoint(signed, keys)
	if err != nil {
		return Checkpoint{}, err
	}
	tail, found := strings.CutPrefix(signed, c.Text()+"\n— "+KeyName(c.Origin.Installation)+" ")
	encoded, ended := strings.CutSuffix(tail, "\n")
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !found || !ended || err != nil || base64.StdEncoding.EncodeToString(raw) != encoded {
		return Checkpoint{}, errors.New("the checkpoint is not in its one form")
	}
	return c, nil
}

func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 {
		return Checkpoint{}, errors.New("the checkpoint does not have three lines")
	}
	origin, err := ParseOrigin(lines[0])
	if err != nil {
		return Checkpoint{}, err
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || size > MaxSize {
		return Checkpoint{}, errors.New("the checkpoint's size is not that of a log")
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return Checkpoint{}, errors.New("the checkpoint's root is not a hash")
	}
	c := Checkpoint{Origin: origin, Size: size, Root: root}
	if c.Text() != text {
		return Checkpoint{}, errors.New("the checkpoint is not in its one form")
	}
	return c, nil
}

// noteError is an error of the note package in our words.
func noteError(err error) error {
	if _, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		return errors.New("not made with a key that is trusted here")
	}
	if _, ok := errors.AsType[*note.InvalidSignatureError](err); ok {
		return errors.New("it does not fit the text")
	}
	return err
}
