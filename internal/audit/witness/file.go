package witness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"writ/internal/audit/ledger"
)

// File is a witness that is a file: on another machine's disk, or one that can only be
// appended to.
type File struct {
	path string
	now  func() time.Time
}

// NewFile makes a witness of a file, which need not exist yet.
func NewFile(path string, now func() time.Time) *File { return &File{path, now} }

// Name is the word for it in messages.
func (f *File) Name() string { return "file" }

// Send appends checkpoints, and returns when they are on disk.
func (f *File) Send(_ context.Context, checkpoints []Checkpoint) (err error) {
	var text []byte
	seenAt := f.now().UTC().Format(time.RFC3339Nano)
	for _, c := range checkpoints {
		line, err := ledger.Sighting{SeenAt: seenAt, Checkpoint: c.Signed}.Encode()
		if err != nil {
			return err
		}
		text = append(text, line...)
	}
	return f.append(text)
}

func (f *File) append(text []byte) error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the witness file: %w", err)
	}
	if cut, err := endsCut(file); err != nil {
		return errors.Join(err, file.Close())
	} else if cut {
		text = append([]byte("\n"), text...) // a crash cut the last line
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write the witness file: %w", err)
	}
	return nil
}

// endsCut reports whether the last line of a file has no end.
func endsCut(file *os.File) (bool, error) {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = file.ReadAt(last, info.Size()-1)
	return last[0] != '\n', err
}

// Latest is the last checkpoint of each log in the file; empty where there is none.
func (f *File) Latest() (map[string]string, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the witness file: %w", err)
	}
	defer file.Close()
	latest := map[string]string{}
	return latest, ledger.ReadSightings(file, func(s ledger.Sighting) error {
		origin, err := ledger.OriginOf(s.Checkpoint)
		if err == nil {
			latest[origin.Log] = s.Checkpoint
		}
		return err
	})
}
