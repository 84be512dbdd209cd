package wordindex

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"writ/internal/database"
)

// Things are indexed behind the back of those who write them: a change that makes one enqueues it, which is one small
// row, and a job gives it its words. A change that erases a text calls Forget, so that its words are gone with it.
//
// A thing has a number of its own, made of its time. It keeps it, so that results keep their order.

// numberBits is the part of a number below the microsecond.
const numberBits = 10

// Before is the number below which all things were made before a time, or at it.
func Before(at time.Time) int64 { return (database.Micros(at) + 1) << numberBits }

// things is the index of a kind of thing.
func things(kind string) *Index { return &Index{Table: "search_word", Kind: kind} }

// Enqueue has a new thing indexed soon, in the transaction that makes it.
func Enqueue(ctx context.Context, tx *database.Tx, orgID, kind, id string, made time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO search_queue (kind, id, ticket, org_id, made_at) VALUES ($1, $2, $3, $4, $5)`, kind, id, ticket(), orgID,
		database.Micros(made))
	return database.Wrap(err, "enqueue the words of %s %s", kind, id)
}

// ticket is a number that nobody has seen: a row that is enqueued again is another one.
func ticket() int64 {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return int64(binary.BigEndian.Uint64(random[:]) >> 1)
}

// Forget takes the words of a thing out of the index, in the transaction that erases them, and has it indexed again
// with what is left of it. The queue comes first: whoever is indexing the thing has then either finished, or finds it
// taken.
func Forget(ctx context.Context, tx *database.Tx, orgID, kind, id string, made time.Time) error {
	if _, err := tx.Exec(ctx, `DELETE FROM search_queue WHERE kind = $1 AND id = $2`, kind, id); err != nil {
		return fmt.Errorf("forget the words of %s %s: %w", kind, id, err)
	}
	number, err := numberOf(ctx, tx, orgID, kind, id)
	if err != nil {
		return err
	}
	if number != 0 {
		if err := things(kind).Remove(ctx, tx, number); err != nil {
			return err
		}
	}
	return Enqueue(ctx, tx, orgID, kind, id, made)
}

// numberOf is the number of a thing; 0: it has none.
func numberOf(ctx context.Context, r database.Reader, orgID, kind, id string) (number int64, err error) {
	err = r.QueryRow(ctx, `SELECT doc FROM search_thing WHERE org_id = $1 AND kind = $2 AND id = $3`, orgID, kind,
		id).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return number, database.Wrap(err, "read the number of %s %s", kind, id)
}

// Text is what a thing is found by.
type Text struct {
	Words, Payloads, Tags []string
}

// Read reads what a thing is found by; nil: it is gone.
type Read func(ctx context.Context, r database.Reader, orgID, id string) (*Text, error)

// sliceThings is how many things one change indexes.
const sliceThings = 50

// Work indexes what waits in the queue of a kind, in small changes, until nothing does. Where nothing waits, it writes
// nothing.
func Work(ctx context.Context, db *database.DB, kind string, read Read) error {
	var more bool
	err := db.Prepared().QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM search_queue WHERE kind = $1)`, kind).Scan(&more)
	if err != nil {
		return fmt.Errorf("look for things of kind %s that wait to be indexed: %w", kind, err)
	}
	for more {
		err := db.Write(ctx, database.Change{Logs: []string{Lock}, Do: func(
			ctx context.Context, tx *database.Tx,
		) error {
			n, err := work(ctx, tx, kind, read)
			more = n == sliceThings
			return err
		}})
		if err != nil {
			return fmt.Errorf("index the words of things of kind %s: %w", kind, err)
		}
	}
	return nil
}

type waiting struct {
	orgID, id string
	made      int64
}

// work indexes a slice. It takes the rows of the queue before it reads the things: see Forget.
func work(ctx context.Context, tx *database.Tx, kind string, read Read) (n int, err error) {
	taken, err := database.Collect(ctx, tx, func(row database.Scanner) (w waiting, err error) {
		err = row.Scan(&w.orgID, &w.id, &w.made)
		return w, err
	}, `
		DELETE FROM search_queue
		WHERE (kind, id, ticket) IN (SELECT kind, id, ticket FROM search_queue WHERE kind = $1 ORDER BY made_at LIMIT $2)
		RETURNING org_id, id, made_at`, kind, sliceThings)
	if err != nil {
		return 0, err
	}
	docs := map[int64]Doc{}
	for _, w := range taken {
		text, err := read(ctx, tx, w.orgID, w.id)
		if err != nil {
			return 0, err
		}
		if text == nil {
			continue
		}
		number, err := number(ctx, tx, kind, w)
		if err != nil {
			return 0, err
		}
		docs[number] = Doc{
			Number: number, OrgID: w.orgID,
			Words: text.Words, Payloads: text.Payloads, Tags: text.Tags,
		}
	}
	all := make([]Doc, 0, len(docs))
	for number, doc := range docs {
		if err := things(kind).Remove(ctx, tx, number); err != nil { // of a thing that was enqueued twice
			return 0, err
		}
		all = append(all, doc)
	}
	return len(taken), things(kind).Add(ctx, tx, all)
}

// number is the number of a thing, which it gets here if it has none.
func number(ctx context.Context, tx *database.Tx, kind string, w waiting) (int64, error) {
	known, err := numberOf(ctx, tx, w.orgID, kind, w.id)
	if err != nil || known != 0 {
		return known, err
	}
	sum := sha256.Sum256([]byte(w.id))
	try := w.made<<numberBits | int64(binary.BigEndian.Uint16(sum[:])&(1<<numberBits-1))
	for ; ; try++ {
		made, err := tx.Exec(ctx, `
			INSERT INTO search_thing (org_id, kind, id, doc) VALUES ($1, $2, $3, $4)
			ON CONFLICT (doc) DO NOTHING`, w.orgID, kind, w.id, try)
		if err != nil || made == 1 {
			return try, database.Wrap(err, "number %s %s", kind, w.id)
		}
	}
}

// Found is a thing that a query found.
type Found struct {
	ID     string
	Number int64
}

// FindThings finds the things of a kind, below a number, newest first.
func FindThings(
	ctx context.Context, db *database.DB, orgID, kind string, q Query, before int64, limit int,
) (found []Found, err error) {
	numbers, err := things(kind).Find(ctx, db, db.Engine(), orgID, q, before, limit)
	if err != nil {
		return nil, err
	}
	for _, number := range numbers {
		f := Found{Number: number}
		err := db.Prepared().QueryRow(ctx, `SELECT id FROM search_thing WHERE doc = $1 AND org_id = $2 AND kind = $3`, number,
			orgID, kind).Scan(&f.ID)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read what was found: %w", err)
		}
		found = append(found, f)
	}
	return found, nil
}

// Waits reports whether things of a kind wait to be indexed in an organization.
func Waits(ctx context.Context, r database.Reader, orgID, kind string) (waits bool, err error) {
	err = r.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM search_queue WHERE kind = $1 AND org_id = $2)`, kind,
		orgID).Scan(&waits)
	return waits, database.Wrap(err, "look for what waits to be indexed")
}
