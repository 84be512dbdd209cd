package blog

import (
	"context"
	"net/http"
	"time"

	"writ/internal/api/route"
	"writ/internal/blog"
	"writ/internal/blog/markdown"
	"writ/internal/page"
	"writ/internal/principal"
)

// maxPost is more than a post takes in JSON, where a byte may become six.
const maxPost = 6*blog.MaxBody + 16<<10

func (h *Handlers) mountDrafts(r *route.Router) {
	operators := func(rt route.Route) route.Route { return rt.For(route.Person).ForOperators() }
	route.Handle(r, operators(route.Get("/admin/blog/posts", "All posts, drafts included, oldest first")),
		h.listAll)
	route.Handle(r, operators(route.Post("/admin/blog/posts", "Write a draft")).
		Records("blog.created").Configures().UpTo(maxPost).Answers(http.StatusCreated), h.create)
	route.Handle(r, operators(route.Post("/admin/blog/preview", "How Markdown will look, without saving it")).
		Unrecorded().Configures().UpTo(maxPost), h.preview)
	route.Handle(r, operators(route.Get("/admin/blog/posts/{id}", "One post, with its Markdown and how it will look")),
		h.get)
	route.Handle(r, operators(route.Put("/admin/blog/posts/{id}", "Change a post")).
		Records("blog.updated").Configures().UpTo(maxPost), h.update)
	route.Handle(r, operators(route.Post("/admin/blog/posts/{id}/publish", "Show a post to everybody")).
		Records("blog.published").Configures(), h.publish)
	route.Handle(r, operators(route.Post("/admin/blog/posts/{id}/withdraw", "Make a published post a draft again")).
		Records("blog.withdrawn").Configures(), h.withdraw)
	route.Handle(r, operators(route.Delete("/admin/blog/posts/{id}", "Delete a post for good")).
		Records("blog.deleted").Answers(http.StatusNoContent), h.delete)
}

// PostSummaryBody is a post in the operators' list.
type PostSummaryBody struct {
	ID          string     `json:"id" format:"uuid"`
	Slug        string     `json:"slug" example:"plans-before-tools"`
	Title       string     `json:"title" example:"Plans before tools"`
	Summary     string     `json:"summary" example:"Why an agent says first what it is going to do."`
	Revision    int64      `json:"revision" doc:"Grows with every change; a change names the one that it was made from." example:"1"`
	AuthorID    string     `json:"authorId" format:"uuid"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
	PublishedAt *time.Time `json:"publishedAt" doc:"null: a draft."`
}

// PostBody is a post as operators see it.
type PostBody struct {
	PostSummaryBody
	Body string `json:"body" doc:"Markdown." example:"Agents *declare*."`
	HTML string `json:"html" doc:"What readers get." example:"<p>Agents <em>declare</em>.</p>"`
}

func postSummary(p blog.Post) PostSummaryBody {
	return PostSummaryBody{
		ID:          p.ID,
		Slug:        p.Slug,
		Title:       p.Title,
		Summary:     p.Summary,
		Revision:    p.Revision,
		AuthorID:    p.AuthorID,
		CreatedAt:   p.CreatedAt,
		UpdatedAt:   p.UpdatedAt,
		PublishedAt: p.PublishedAt,
	}
}

func postBody(p blog.Post, err error) (PostBody, error) {
	if err != nil {
		return PostBody{}, err
	}
	html, err := markdown.HTML(p.Body)
	return PostBody{postSummary(p), p.Body, html}, err
}

// ContentBody is what an operator writes.
type ContentBody struct {
	Slug    string `json:"slug" minLength:"1" maxLength:"100" doc:"Small letters, digits and hyphens; it cannot change while the post is published." example:"plans-before-tools"`
	Title   string `json:"title" minLength:"1" maxLength:"200" example:"Plans before tools"`
	Summary string `json:"summary,omitempty" maxLength:"500" example:"Why an agent says first what it is going to do."`
	Body    string `json:"body" minLength:"1" maxLength:"100000" doc:"Markdown, at most 100,000 bytes. HTML in it is left out." example:"Agents *declare*."`
}

func (b ContentBody) content() blog.Content { return blog.Content(b) }

func (h *Handlers) listAll(
	ctx context.Context, caller principal.Principal, in *route.PageInput,
) (page.Page[PostSummaryBody], error) {
	found, err := h.Blog.List(ctx, caller, in.Cursor, in.Limit)
	return route.MapPage(found, postSummary), err
}

type createPostInput struct{ Body ContentBody }

func (h *Handlers) create(ctx context.Context, caller principal.Principal, in *createPostInput) (PostBody, error) {
	return postBody(h.Blog.Create(ctx, caller, in.Body.content()))
}

func (h *Handlers) get(ctx context.Context, caller principal.Principal, in *route.IDInput) (PostBody, error) {
	return postBody(h.Blog.Get(ctx, caller, in.ID))
}

type previewPostInput struct {
	Body struct {
		Body string `json:"body" minLength:"1" maxLength:"100000" doc:"Markdown, as that of a post." example:"Agents *declare*."`
	}
}

// PostPreviewBody is what readers would get.
type PostPreviewBody struct {
	HTML string `json:"html" doc:"What readers would get." example:"<p>Agents <em>declare</em>.</p>"`
}

func (h *Handlers) preview(
	ctx context.Context, caller principal.Principal, in *previewPostInput,
) (body PostPreviewBody, err error) {
	if err := h.Blog.Check(ctx, caller, in.Body.Body); err != nil {
		return body, err
	}
	body.HTML, err = markdown.HTML(in.Body.Body)
	return body, err
}

type updatePostInput struct {
	route.IDInput
	Body struct {
		ContentBody
		Revision int64 `json:"revision" minimum:"1" doc:"The revision that was changed; 409 if there is a later one." example:"1"`
	}
}

func (h *Handlers) update(ctx context.Context, caller principal.Principal, in *updatePostInput) (PostBody, error) {
	return postBody(h.Blog.Update(ctx, caller, in.ID, in.Body.Revision, in.Body.content()))
}

type showPostInput struct {
	route.IDInput
	Body struct {
		Revision int64 `json:"revision" minimum:"1" doc:"The revision that the caller has read; 409 if there is a later one." example:"1"`
	}
}

func (h *Handlers) publish(ctx context.Context, caller principal.Principal, in *showPostInput) (PostBody, error) {
	return postBody(h.Blog.Publish(ctx, caller, in.ID, in.Body.Revision))
}

func (h *Handlers) withdraw(ctx context.Context, caller principal.Principal, in *showPostInput) (PostBody, error) {
	return postBody(h.Blog.Withdraw(ctx, caller, in.ID, in.Body.Revision))
}

func (h *Handlers) delete(ctx context.Context, caller principal.Principal, in *route.IDInput) (route.None, error) {
	return route.None{}, h.Blog.Delete(ctx, caller, in.ID)
}
