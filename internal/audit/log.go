package audit

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"writ/internal/audit/ledger"
	"writ/internal/database"
)

// KeySource gives the key that signs checkpoints now. If it has to make the first
// one, it records that in the given log, which signs nothing before it has that key.
type KeySource func(ctx context.Context, log *Log) (ed25519.PrivateKey, error)

// Log appends to the audit logs of one database and signs them before each commit.
// Make one a process with Open; a Log made otherwise cannot commit anything.
type Log struct {
	db           *database.DB
	keys         KeySource
	known        KnownKeys // or nil: the present key alone counts
	follower     Follower  // or nil
	installation string
	restoring    bool // goes on from any head, in a new epoch
	signer       atomic.Pointer[signer]
	trust        trust
	running      database.PerTx[map[string]*running] // by the log's name
	first        database.PerTx[*signer]             // of the first key, in the transaction that makes it
}

var errNotOpened = errors.New("the audit log was not opened: it could not sign what was appended")

// Open makes the log. Everything appended through it is signed, and a log whose head this
// installation has not signed is not continued. The key is fetched here and by
// RefreshKey, never inside a transaction. A database whose System log cannot be continued
// is refused.
func Open(
	ctx context.Context, db *database.DB, keys KeySource, follower Follower, known ...KnownKeys,
) (*Log, error) {
	l := &Log{db: db, keys: keys, follower: follower}
	if len(known) > 0 {
		l.known = known[0]
	}
	if err := l.open(ctx); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	if err := l.sealHeads(ctx); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	if err := l.proveSystem(ctx); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return l, nil
}

// proveSystem checks the head of the System log, which has an entry at least for the key.
func (l *Log) proveSystem(ctx context.Context) error {
	head, err := ReadHead(ctx, l.db, System)
	switch {
	case err != nil:
		return err
	case head.Size > 0:
		return l.proveHead(ctx, l.db, &head)
	case l.known != nil:
		return &HeadError{System, errGone}
	}
	return nil
}

// OpenToRestore makes a log that signs and goes on from any head: for a restore, which
// begins a new epoch in each.
func OpenToRestore(ctx context.Context, db *database.DB, keys KeySource, known KnownKeys) (*Log, error) {
	l := &Log{db: db, keys: keys, known: known, restoring: true}
	if err := l.open(ctx); err != nil {
		return nil, fmt.Errorf("open the restored audit log: %w", err)
	}
	return l, nil
}

func (l *Log) open(ctx context.Context) (err error) {
	if l.installation, err = installationOf(ctx, l.db); err != nil {
		return fmt.Errorf("name this installation: %w", err)
	}
	l.signer.Store(&signer{}) // the first key signs the entry that records it
	if err := l.RefreshKey(ctx); err != nil {
		return err
	}
	return l.fillTiles(ctx)
}

// SignFirst has the transaction that makes the first key for checkpoints signed with it,
// so that no log is ever committed without a signature.
func (l *Log) SignFirst(tx *database.Tx, private ed25519.PrivateKey) error {
	if present := l.signer.Load(); l.keys == nil || present != nil && present.key != nil {
		return nil
	}
	first, err := l.newSigner(private)
	*l.first.In(tx) = first
	return err
}

// signerIn is the signer of a transaction.
func (l *Log) signerIn(tx *database.Tx) *signer {
	if first := *l.first.In(tx); first != nil {
		return first
	}
	return l.signer.Load()
}

// Unsigned makes a log that signs nothing and checks no head, for a process without the
// key. A server does not continue what it leaves.
func Unsigned(db *database.DB) *Log {
	l := &Log{db: db}
	l.signer.Store(&signer{})
	return l
}

// RefreshKey takes up a key that was rotated, here or by another replica. Until
// then the old one signs, which verifiers still know.
func (l *Log) RefreshKey(ctx context.Context) error {
	private, err := l.keys(ctx, l)
	if err != nil {
		return fmt.Errorf("load the key for checkpoints: %w", err)
	}
	next, err := l.newSigner(private)
	if err != nil {
		return err
	}
	l.signer.Store(next)
	_, err = l.readKeys(ctx, l.db)
	return err
}

func (l *Log) newSigner(private ed25519.PrivateKey) (*signer, error) {
	next := &signer{installation: l.installation}
	var err error
	if next.key, err = ledger.NewSigner(l.installation, private); err != nil {
		return nil, fmt.Errorf("load the key for checkpoints: %w", err)
	}
	if next.sealKey, err = sealKey(private); err != nil {
		return nil, fmt.Errorf("load the key for checkpoints: %w", err)
	}
	next.public, err = l.KeyText(private.Public().(ed25519.PublicKey))
	return next, err
}

// PublicKey is the key that signs now, as a note verifier.
func (l *Log) PublicKey() string { return l.signer.Load().public }

// KeyText is a key of this installation, perhaps a retired one, as a note verifier.
func (l *Log) KeyText(public ed25519.PublicKey) (string, error) {
	return ledger.KeyText(l.installation, public)
}

// installationOf is the name of this installation, made on first use. Replicas agree on
// one by the lock of the System log.
func installationOf(ctx context.Context, db *database.DB) (id string, err error) {
	if id, err = readInstallation(ctx, db); err != nil || id != "" {
		return id, err
	}
	err = db.Write(ctx, database.Change{Logs: []string{System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		if id, err = readInstallation(ctx, tx); err != nil || id != "" {
			return err
		}
		id = database.NewID()
		_, err = tx.Exec(ctx, `INSERT INTO audit_installation (id) VALUES ($1)`, id)
		return err
	}})
	return id, err
}

// ReadInstallation reads the name of the installation of a database that a restore replaces; empty: it has none.
func ReadInstallation(ctx context.Context, r database.Reader) (string, error) {
	return readInstallation(ctx, r)
}

// readInstallation reads the name; empty: there is none yet.
func readInstallation(ctx context.Context, r database.Reader) (id string, err error) {
	err = r.QueryRow(ctx, `SELECT id FROM audit_installation`).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// fillTiles writes the tiles of logs that grew before there were any.
func (l *Log) fillTiles(ctx context.Context) error {
	heads, err := ReadHeads(ctx, l.db)
	if err != nil {
		return err
	}
	for _, head := range heads {
		for level := 0; spanned(head.Size, level) > 0; level++ {
			if err := l.fillLevel(ctx, head, level); err != nil {
				return fmt.Errorf("write the tiles of log %s: %w", head.Log, err)
			}
		}
	}
	return nil
}

// fillLevel writes the missing tiles: the first ones, because appends write their own.
func (l *Log) fillLevel(ctx context.Context, head Head, level int) error {
	missing := spanned(head.Size, level)
	err := l.db.QueryRow(ctx, `
		SELECT COALESCE(MIN(position), $3)
		FROM audit_tile
		WHERE log = $1 AND level = $2`, head.Log, level, missing).Scan(&missing)
	if err != nil {
		return err
	}
	for position := range missing {
		err := l.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			return writeTile(ctx, tx, head.Log, level, position)
		}})
		if err != nil {
			return err
		}
	}
	return nil
}
