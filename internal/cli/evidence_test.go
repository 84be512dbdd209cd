package cli_test

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"writ/internal/audit/ledger"
)

// evidence writes the exports, keys and checkpoints of a log, good and bad.
func evidence(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 0, "evidence")
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	write := func(name string, content []byte) { ts.Check(os.WriteFile(ts.MkAbs(name), content, 0o600)) }
	write("key.txt", []byte(keyText(ts, key)+"\n"))
	write("other.txt", []byte(keyText(ts, other)+"\n"))

	log := &evidenceLog{ts: ts, key: key}
	log.add("call.decided", 0)
	log.add("call.decided", 0)
	write("earlier.txt", []byte(log.checkpoint()))
	seen := sighting(ts, log.checkpoint())
	log.add("call.decided", 0)
	write("export.ndjson", log.export())
	write("witness.ndjson", append(seen, sighting(ts, log.checkpoint())...))
	payload, none := []byte(`{"payload":{"entries":1,"known":true},"record"`), []byte(`{"record"`)
	gone := bytes.Replace(log.export(), payload, none, 1)
	salt := []byte(`,"salt":"` + strings.Repeat("03", ledger.SaltSize) + `"`)
	write("gone.ndjson", bytes.Replace(gone, salt, nil, 1))
	write("changed.ndjson", bytes.Replace(log.export(), []byte(`"verdict":"deny"`), []byte(`"verdict":"none"`), 1))
	write("seen.txt", []byte(log.checkpoint()))
	log.items = log.items[:2]
	write("shrunk.ndjson", log.export())
	log.add(ledger.Restored, 7)
	write("restored.ndjson", log.export())
	unseen := bytes.ReplaceAll(bytes.ReplaceAll(log.export(), payload, none), salt, nil)
	write("unseen.ndjson", bytes.Replace(unseen, []byte("}\n"), []byte(`,"withoutPayloads":true}`+"\n"), 1))
}

// sighting is a line of a witness.
func sighting(ts *testscript.TestScript, checkpoint string) []byte {
	line, err := ledger.Sighting{SeenAt: "2031-05-01T12:00:00Z", Checkpoint: checkpoint}.Encode()
	ts.Check(err)
	return line
}

func keyText(ts *testscript.TestScript, key ed25519.PrivateKey) string {
	text, err := ledger.KeyText("test", key.Public().(ed25519.PublicKey))
	ts.Check(err)
	return text
}

// evidenceLog is a log in memory.
type evidenceLog struct {
	ts     *testscript.TestScript
	key    ed25519.PrivateKey
	epoch  int64
	items  [][]byte // lines of the export
	leaves []ledger.Hash
}

func (l *evidenceLog) add(action string, epoch int64) {
	l.epoch = epoch
	salt, payload := bytes.Repeat([]byte{3}, ledger.SaltSize), []byte(`{"entries":1,"known":true}`)
	record, err := ledger.Record{
		Log:      "org",
		Epoch:    epoch,
		Index:    int64(len(l.items)),
		Action:   action,
		Decision: ledger.Decision{Verdict: "deny"},
		Payload:  ledger.Commitment(salt, payload),
	}.Encode()
	l.ts.Check(err)
	l.items = append(l.items, ledger.AppendLine(nil, record, payload, salt))
	l.leaves = append(l.leaves[:len(l.items)-1], ledger.LeafHash(record))
}

func (l *evidenceLog) checkpoint() string {
	var tree ledger.Frontier
	for _, leaf := range l.leaves[:len(l.items)] {
		tree.Add(leaf)
	}
	signer, err := ledger.NewSigner("test", l.key)
	l.ts.Check(err)
	origin := ledger.Origin{Installation: "test", Log: "org", Epoch: l.epoch}
	text, err := ledger.Checkpoint{Origin: origin, Size: tree.Size(), Root: tree.Root()}.Sign(signer)
	l.ts.Check(err)
	return text
}

func (l *evidenceLog) export() []byte {
	header, err := ledger.NewHeader(ledger.Frontier{}, l.checkpoint(), keyText(l.ts, l.key)).Encode()
	l.ts.Check(err)
	return append(header, bytes.Join(l.items, nil)...)
}
