package blog

import (
	"context"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
)

const selectPost = `
	SELECT id, slug, title, summary, body, revision, author_id, created_at, updated_at, published_at
	FROM blog_post
	`

// selectOutline leaves the text out: a page of long posts would be megabytes.
const selectOutline = `
	SELECT id, slug, title, summary, '', revision, author_id, created_at, updated_at, published_at
	FROM blog_post
	`

func scan(s database.Scanner) (p Post, err error) {
	err = s.Scan(&p.ID, &p.Slug, &p.Title, &p.Summary, &p.Body, &p.Revision, &p.AuthorID,
		database.ToTime(&p.CreatedAt), database.ToTime(&p.UpdatedAt), database.ToOptionalTime(&p.PublishedAt))
	return p, err
}

func missing() error { return fault.New(fault.NotFound, "there is no such post") }

func publishedBefore(
	ctx context.Context, r database.Reader, query string, after page.Cursor, limit int,
) ([]Post, error) {
	var where database.Where
	where.And("published_at IS NOT NULL")
	if !after.IsZero() {
		where.And("(published_at < ? OR (published_at = ? AND id < ?))", after.Micros, after.Micros, after.ID)
	}
	posts, err := database.Collect(ctx, r, scan,
		query+where.String()+`ORDER BY published_at DESC, id DESC LIMIT `+where.Bind(limit), where.Args...)
	return posts, database.Wrap(err, "list the published posts")
}

func postsAfter(ctx context.Context, r database.Reader, after page.Cursor, limit int) ([]Post, error) {
	posts, err := database.Collect(ctx, r, scan, selectOutline+`
		WHERE created_at > $1 OR (created_at = $1 AND id > $2)
		ORDER BY created_at, id
		LIMIT $3`, after.Micros, after.ID, limit)
	return posts, database.Wrap(err, "list the posts")
}

func findPublished(ctx context.Context, r database.Reader, slug string) (Post, error) {
	post, err := scan(r.QueryRow(ctx, selectPost+`WHERE slug = $1 AND published_at IS NOT NULL`, slug))
	return post, database.OrMissing(err, missing(), "load a post by its slug")
}

func find(ctx context.Context, r database.Reader, id string) (Post, error) {
	if !database.IsID(id) {
		return Post{}, missing()
	}
	post, err := scan(r.QueryRow(ctx, selectPost+`WHERE id = $1`, id))
	return post, database.OrMissing(err, missing(), "load post %s", id)
}

func findRevision(ctx context.Context, r database.Reader, id string, revision int64) (Post, error) {
	post, err := find(ctx, r, id)
	if err == nil && post.Revision != revision {
		return Post{}, fault.New(fault.Conflict, "somebody changed the post meanwhile: it has revision %d",
			post.Revision)
	}
	return post, err
}

func count(ctx context.Context, r database.Reader) (n int, err error) {
	err = r.QueryRow(ctx, `SELECT count(*) FROM blog_post`).Scan(&n)
	return n, database.Wrap(err, "count the posts")
}

func insert(ctx context.Context, tx *database.Tx, p Post) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO blog_post (id, slug, title, summary, body, revision, author_id, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		p.ID, p.Slug, p.Title, p.Summary, p.Body, p.Revision, p.AuthorID, database.Micros(p.CreatedAt),
		database.Micros(p.UpdatedAt))
	return orTaken(err, p)
}

func update(ctx context.Context, tx *database.Tx, p Post) error {
	_, err := tx.Exec(ctx, `
		UPDATE blog_post
		SET slug = $2, title = $3, summary = $4, body = $5, revision = $6, updated_at = $7, published_at = $8
		WHERE id = $1`,
		p.ID, p.Slug, p.Title, p.Summary, p.Body, p.Revision, database.Micros(p.UpdatedAt),
		database.OptionalMicros(p.PublishedAt))
	return orTaken(err, p)
}

func orTaken(err error, p Post) error {
	if database.IsUnique(err) {
		return fault.New(fault.Conflict, "another post has the slug %q", p.Slug)
	}
	return database.Wrap(err, "store post %s", p.ID)
}

func remove(ctx context.Context, tx *database.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM blog_post WHERE id = $1`, id)
	return database.Wrap(err, "delete post %s", id)
}
