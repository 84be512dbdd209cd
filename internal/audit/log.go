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
	follower     Follower // or nil
	installation string
	signer       atomic.Pointer[signer]
	running      database.PerTx[map[string]*running] // by the log's name
}

var errNotOpened = errors.New("the audit log was not opened: it could not sign what was appended")

// Open makes the log. Everything appended through it is signed. The key is fetched
// here and by RefreshKey, never inside a transaction.
func Open(ctx context.Context, db *database.DB, keys KeySource, follower Follower) (*Log, error) {
	l := &Log{db: db, keys: keys, follower: follower}
	var err error
	if l.installation, err = installationOf(ctx, db); err != nil {
		return nil, fmt.Errorf("open the audit log: name this installation: %w", err)
	}
	l.signer.Store(&signer{}) // nothing can be signed before the first key is recorded
	if err := l.RefreshKey(ctx); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	if err := l.fillTiles(ctx); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return l, nil
}

// Unsigned makes a log for a process without the key, as a restore is. The server signs
// the checkpoint when somebody asks for it.
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
	next := &signer{installation: l.installation}
	if next.key, err = ledger.NewSigner(l.installation, private); err != nil {
		return fmt.Errorf("load the key for checkpoints: %w", err)
	}
	if next.public, err = l.KeyText(private.Public().(ed25519.PublicKey)); err != nil {
		return err
	}
	l.signer.Store(next)
	return nil
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
