package ledger_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"writ/internal/audit/ledger"
)

var origin = ledger.Origin{Installation: installation, Log: "org-1", Epoch: 3}

func signed(t testing.TB) string {
	t.Helper()
	text, err := ledger.Checkpoint{
		Origin: origin, Size: 13, Root: ledger.Hash(mth(leavesOf(13))),
	}.Sign(signer(t, signing))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestCheckpointAsWritten reads a checkpoint with nothing but the standard
// library, from the text of the note and checkpoint formats.
func TestCheckpointAsWritten(t *testing.T) {
	t.Parallel()
	text := signed(t)
	body, signatures, found := strings.Cut(text, "\n\n")
	root := mth(leavesOf(13))
	if want := "writ/0197-test/log/org-1/epoch/3\n13\n" + base64.StdEncoding.EncodeToString(root[:]); !found ||
		body != want {
		t.Fatalf("body = %q, want %q", body, want)
	}
	encoded, found := strings.CutPrefix(signatures, "— writ/0197-test ")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "\n"))
	if !found || err != nil {
		t.Fatalf("signatures = %q (%v)", signatures, err)
	}
	public := signing.Public().(ed25519.PublicKey)
	id := sha256.Sum256(append([]byte("writ/0197-test\n\x01"), public...))
	if binary.BigEndian.Uint32(raw) != binary.BigEndian.Uint32(id[:]) {
		t.Error("the signature does not name the key")
	}
	if !ed25519.Verify(public, []byte(body+"\n"), raw[4:]) {
		t.Error("the signature does not verify")
	}
}

func TestOpenCheckpoint(t *testing.T) {
	t.Parallel()
	got, err := ledger.OpenCheckpoint(signed(t), keys(t, another, signing, signing))
	if err != nil || got.Origin != origin || got.Size != 13 || hash(got.Root) != mth(leavesOf(13)) {
		t.Fatalf("checkpoint = %+v, %v", got, err)
	}
}

func TestWitnessesMaySignToo(t *testing.T) {
	t.Parallel()
	secret, _, err := note.GenerateKey(nil, "witness.example")
	if err != nil {
		t.Fatal(err)
	}
	witness, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ledger.OpenCheckpoint(signed(t), keys(t, signing))
	if err != nil {
		t.Fatal(err)
	}
	both, err := note.Sign(&note.Note{Text: plain.Text()}, witness, signer(t, signing))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.OpenCheckpoint(string(both), keys(t, signing)); err != nil {
		t.Errorf("a checkpoint with a witness: %v", err)
	}
}

func TestOpenCheckpointRefuses(t *testing.T) {
	t.Parallel()
	text := signed(t)
	resign := func(body string) string {
		out, err := note.Sign(&note.Note{Text: body}, signer(t, signing))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	elsewhere, err := ledger.NewSigner("elsewhere", signing)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := ledger.Checkpoint{Origin: origin, Size: 1}.Sign(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	foreignKey, err := ledger.KeyText("elsewhere", signing.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	foreignKeys, err := ledger.ParseKeys(foreignKey)
	if err != nil {
		t.Fatal(err)
	}
	root := strings.Split(text, "\n")[2]
	for name, c := range map[string]struct {
		text string
		keys ledger.Keys
	}{
		"no keys":                    {text, nil},
		"another key":                {text, keys(t, another)},
		"a key of another name":      {foreign, foreignKeys},
		"nothing":                    {"", keys(t, signing)},
		"another size":               {strings.Replace(text, "\n13\n", "\n14\n", 1), keys(t, signing)},
		"another log":                {strings.Replace(text, "org-1", "org-2", 1), keys(t, signing)},
		"another epoch":              {strings.Replace(text, "epoch/3", "epoch/4", 1), keys(t, signing)},
		"no signature":               {text[:strings.Index(text, "—")], keys(t, signing)},
		"signed: a size with a zero": {resign(origin.String() + "\n013\n" + root + "\n"), keys(t, signing)},
		"signed: a negative size":    {resign(origin.String() + "\n-1\n" + root + "\n"), keys(t, signing)},
		"signed: a size without end": {
			resign(origin.String() + "\n9223372036854775807\n" + root + "\n"), keys(t, signing),
		},
		"signed: a fourth line":       {resign(origin.String() + "\n13\n" + root + "\nmore\n"), keys(t, signing)},
		"signed: a short root":        {resign(origin.String() + "\n13\nAAAA\n"), keys(t, signing)},
		"signed: an origin of others": {resign("example.com/log\n13\n" + root + "\n"), keys(t, signing)},
		"signed: an epoch with sign": {
			resign("writ/0197-test/log/org-1/epoch/+3\n13\n" + root + "\n"), keys(t, signing),
		},
	} {
		if got, err := ledger.OpenCheckpoint(c.text, c.keys); err == nil {
			t.Errorf("%s is taken: %+v", name, got)
		}
	}
}

func TestSignRefusesNamesThatForge(t *testing.T) {
	t.Parallel()
	for _, log := range []string{"", "a/epoch/9", "a\n1", "a b", "é"} {
		bad := origin
		bad.Log = log
		if text, err := (ledger.Checkpoint{Origin: bad}).Sign(signer(t, signing)); err == nil {
			t.Errorf("log %q is signed: %q", log, text)
		}
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	good := keyText(t, signing)
	parsed, err := ledger.ParseKeys("# the server's\n\n  " + good + "  \r\n" + keyText(t, another) + "\n")
	if err != nil || len(parsed) != 2 || parsed[0].String() != good {
		t.Fatalf("keys = %v, %v", parsed, err)
	}
	hash := strings.Split(good, "+")[1]
	if strings.ToUpper(hash) == hash {
		t.Fatal("the key's hash has no letters: choose another key")
	}
	for name, text := range map[string]string{
		"nothing":          " \n# no key\n",
		"words":            "my key",
		"cut":              good[:len(good)-1],
		"another name":     "x" + good,
		"another key":      strings.Replace(keyText(t, another), strings.Split(keyText(t, another), "+")[1], hash, 1),
		"hash in capitals": strings.Replace(good, hash, strings.ToUpper(hash), 1),
		"a line break":     good[:len(good)-4] + "\r" + good[len(good)-4:],
	} {
		if got, err := ledger.ParseKeys(text); err == nil {
			t.Errorf("%s is taken: %v", name, got)
		}
	}
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 13)
	proof, err := ledger.ProveInclusion(5, 13, stored(t, h.leaves()))
	if err != nil {
		t.Fatal(err)
	}
	good := ledger.Receipt{
		Log:        "org-1",
		Index:      5,
		Leaf:       h.leaves()[5],
		Proof:      proof,
		Checkpoint: h.checkpoint(signing),
	}
	record, err := good.CheckRecord(h.items[5].record, keys(t, signing))
	if err != nil || record.Index != 5 || record.Verdict != "deny" {
		t.Fatalf("record = %+v, %v", record, err)
	}
	other := newHistory(t, 16)
	for name, change := range map[string]func(r *ledger.Receipt){
		"another log":   func(r *ledger.Receipt) { r.Log = "org-2" },
		"another epoch": func(r *ledger.Receipt) { r.Epoch = 1 },
		"another place": func(r *ledger.Receipt) { r.Index = 6 },
		"another leaf":  func(r *ledger.Receipt) { r.Leaf[0] ^= 1 },
		"a node of it":  func(r *ledger.Receipt) { r.Proof[1][0] ^= 1 },
		"a checkpoint of another size and the same shape": func(r *ledger.Receipt) {
			r.Checkpoint = other.checkpoint(signing)
		},
		"a checkpoint by another key": func(r *ledger.Receipt) {
			r.Checkpoint = h.checkpoint(another)
		},
	} {
		bad := good
		bad.Proof = append([]ledger.Hash{}, good.Proof...)
		change(&bad)
		if _, err := bad.CheckRecord(h.items[5].record, keys(t, signing)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := good.CheckRecord(h.items[6].record, keys(t, signing)); err == nil {
		t.Error("another record is taken")
	}
}
