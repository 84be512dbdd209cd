package blog

import (
	"context"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// Service keeps posts.
type Service struct {
	db  *database.DB
	log *audit.Log
	// require refuses a caller who is not an operator, as the reader sees it.
	require func(ctx context.Context, r database.Reader, p principal.Principal) error
}

// New makes a Service.
func New(
	db *database.DB, log *audit.Log,
	require func(ctx context.Context, r database.Reader, p principal.Principal) error,
) *Service {
	return &Service{db, log, require}
}

// Published is a page of what everybody may read, newest first, without the text.
func (s *Service) Published(ctx context.Context, cursor string, limit int) (page.Page[Post], error) {
	q := page.Query{List: "blog.published", Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Post, error) {
		return publishedBefore(ctx, s.db, selectOutline, after, limit)
	}, func(p Post) (time.Time, string) { return *p.PublishedAt, p.ID })
}

// Newest are the posts that were published last, with their text.
func (s *Service) Newest(ctx context.Context, limit int) ([]Post, error) {
	return publishedBefore(ctx, s.db, selectPost, page.Cursor{}, limit)
}

// BySlug is a published post. A draft does not exist for readers.
func (s *Service) BySlug(ctx context.Context, slug string) (Post, error) {
	if len(slug) > maxSlug || !slugForm.MatchString(slug) {
		return Post{}, missing()
	}
	return findPublished(ctx, s.db, slug)
}

// List is a page of all posts, drafts included, in the order in which they were made, without their text.
func (s *Service) List(
	ctx context.Context, p principal.Principal, cursor string, limit int,
) (page.Page[Post], error) {
	if err := s.require(ctx, s.db, p); err != nil {
		return page.Page[Post]{}, err
	}
	q := page.Query{List: "blog.posts", Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Post, error) {
		return postsAfter(ctx, s.db, after, limit)
	}, func(p Post) (time.Time, string) { return p.CreatedAt, p.ID })
}

// Get is a post, published or not.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Post, error) {
	if err := s.require(ctx, s.db, p); err != nil {
		return Post{}, err
	}
	return find(ctx, s.db, id)
}

// Check refuses the text of a post that could not be stored, and anyone who could not store it. Nothing is stored.
func (s *Service) Check(ctx context.Context, p principal.Principal, body string) error {
	if err := s.require(ctx, s.db, p); err != nil {
		return err
	}
	return checkBody(body)
}

// Create stores a draft.
func (s *Service) Create(ctx context.Context, p principal.Principal, c Content) (Post, error) {
	c, err := c.clean()
	if err != nil {
		return Post{}, err
	}
	post := Post{ID: database.NewID(), Content: c, Revision: 1, AuthorID: p.UserID}
	err = s.change(ctx, p, "blog.created", &post, func(ctx context.Context, tx *database.Tx) error {
		n, err := count(ctx, tx)
		if err != nil {
			return err
		}
		if n >= maxPosts {
			return fault.New(fault.Conflict, "the blog has %d posts; delete some first", n)
		}
		post.CreatedAt, post.UpdatedAt = tx.Now(), tx.Now()
		return insert(ctx, tx, post)
	})
	return post, err
}

// Update replaces a post's content, if its revision is still the one that the caller has read.
func (s *Service) Update(
	ctx context.Context, p principal.Principal, id string, revision int64, c Content,
) (post Post, err error) {
	if c, err = c.clean(); err != nil {
		return Post{}, err
	}
	err = s.change(ctx, p, "blog.updated", &post, func(ctx context.Context, tx *database.Tx) error {
		if post, err = findRevision(ctx, tx, id, revision); err != nil {
			return err
		}
		if post.PublishedAt != nil && post.Slug != c.Slug {
			return fault.New(fault.Conflict, "a published post keeps its slug %q: links lead to it", post.Slug)
		}
		post.Content = c
		return s.save(ctx, tx, &post)
	})
	return post, err
}

// Publish shows a post to everybody. Publishing what is published changes nothing.
func (s *Service) Publish(ctx context.Context, p principal.Principal, id string, revision int64) (Post, error) {
	return s.show(ctx, p, id, revision, "blog.published", true)
}

// Withdraw makes a post a draft again.
func (s *Service) Withdraw(ctx context.Context, p principal.Principal, id string, revision int64) (Post, error) {
	return s.show(ctx, p, id, revision, "blog.withdrawn", false)
}

func (s *Service) show(
	ctx context.Context, p principal.Principal, id string, revision int64, action string, shown bool,
) (post Post, err error) {
	err = s.change(ctx, p, action, &post, func(ctx context.Context, tx *database.Tx) error {
		if post, err = findRevision(ctx, tx, id, revision); err != nil {
			return err
		}
		if shown == (post.PublishedAt != nil) {
			return fault.New(fault.Conflict, "the post is so already")
		}
		post.PublishedAt = nil
		if now := tx.Now(); shown {
			post.PublishedAt = &now
		}
		return s.save(ctx, tx, &post)
	})
	return post, err
}

// save stores the next revision of a post.
func (s *Service) save(ctx context.Context, tx *database.Tx, post *Post) error {
	post.Revision++
	post.UpdatedAt = tx.Now()
	return update(ctx, tx, *post)
}

// Delete removes a post for good.
func (s *Service) Delete(ctx context.Context, p principal.Principal, id string) error {
	var post Post
	return s.change(ctx, p, "blog.deleted", &post, func(ctx context.Context, tx *database.Tx) (err error) {
		if post, err = find(ctx, tx, id); err != nil {
			return err
		}
		return remove(ctx, tx, id)
	})
}

// change is one of an operator, and records what became of the post.
func (s *Service) change(
	ctx context.Context, p principal.Principal, action string, post *Post,
	do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if err := s.require(ctx, tx, p); err != nil {
			return err
		}
		if err := do(ctx, tx); err != nil {
			return err
		}
		_, err := s.log.Append(ctx, tx, audit.Entry{
			Log:     audit.System,
			Action:  action,
			Actor:   p,
			Subject: audit.Subject{Type: "blog_post", ID: post.ID},
			Payload: map[string]any{"slug": post.Slug, "title": post.Title, "revision": post.Revision},
		})
		return err
	}})
}
