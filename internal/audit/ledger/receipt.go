package ledger

import (
	"encoding/base64"
	"errors"

	"writ/internal/canonical"
)

// Receipt proves that an entry is in a log, without asking the server: its leaf, the path
// from there to the root, and a checkpoint with that root.
type Receipt struct {
	Log        string `json:"log" doc:"Organization id, or system."`
	Epoch      int64  `json:"epoch" doc:"The log's epoch at the checkpoint."`
	Index      int64  `json:"index" doc:"Number of the entry, from 0."`
	Leaf       Hash   `json:"leaf" doc:"RFC 6962 leaf hash of the entry's record, base64."`
	Proof      []Hash `json:"proof" doc:"Inclusion proof, RFC 6962 section 2.1.1, from the leaf up."`
	Checkpoint string `json:"checkpoint" doc:"Signed checkpoint, c2sp.org/tlog-checkpoint."`
}

// Write adds the receipt to a document, as its members' tags say.
func (r *Receipt) Write(to *canonical.Object, name string) {
	to.Begin(name)
	to.String("log", r.Log)
	to.Integer("epoch", r.Epoch)
	to.Integer("index", r.Index)
	to.Value("leaf", func(out []byte) []byte { return appendHash(out, &r.Leaf) })
	to.Value("proof", func(out []byte) []byte {
		out = append(out, '[')
		for i := range r.Proof {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendHash(out, &r.Proof[i])
		}
		return append(out, ']')
	})
	to.String("checkpoint", r.Checkpoint)
	to.End()
}

// appendHash adds a hash in JSON.
func appendHash(out []byte, h *Hash) []byte {
	out = append(out, '"')
	out = base64.StdEncoding.AppendEncode(out, h[:])
	return append(out, '"')
}

// Check checks the receipt against the keys, and returns the checkpoint it leads to.
func (r Receipt) Check(keys Keys) (Checkpoint, error) {
	c, err := OpenCheckpoint(r.Checkpoint, keys)
	if err != nil {
		return Checkpoint{}, err
	}
	if c.Origin.Log != r.Log || c.Origin.Epoch != r.Epoch {
		return Checkpoint{}, errors.New("the receipt and its checkpoint name different logs or epochs")
	}
	return c, CheckInclusion(r.Proof, r.Index, r.Leaf, c.Size, c.Root)
}

// CheckRecord is Check for a holder of the record: it must be what the leaf says.
func (r Receipt) CheckRecord(record []byte, keys Keys) (Record, error) {
	if LeafHash(record) != r.Leaf {
		return Record{}, errors.New("the receipt is for another record")
	}
	if _, err := r.Check(keys); err != nil {
		return Record{}, err
	}
	parsed, err := ParseRecord(record)
	if err != nil {
		return Record{}, err
	}
	if parsed.Log != r.Log || parsed.Index != r.Index {
		return Record{}, errors.New("the record names another log or index than the receipt")
	}
	return parsed, nil
}
