package blog

import (
	"sync"

	"writ/internal/blog"
	"writ/internal/blog/markdown"
)

// maxRendered is how many posts are kept as HTML, of at most a few hundred kilobytes each.
const maxRendered = 32

// renderings keeps what was rendered last: anyone may ask for a post, as often as they like.
type renderings struct {
	mu   sync.Mutex // guards the rest
	kept map[string]rendering
}

type rendering struct {
	revision int64
	html     string
}

// of is a stored post as HTML.
func (k *renderings) of(post blog.Post) (string, error) {
	k.mu.Lock()
	found, ok := k.kept[post.ID]
	k.mu.Unlock()
	if ok && found.revision == post.Revision {
		return found.html, nil
	}
	html, err := markdown.HTML(post.Body)
	if err != nil {
		return "", err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= maxRendered {
		k.kept = map[string]rendering{}
	}
	k.kept[post.ID] = rendering{post.Revision, html}
	return html, nil
}
