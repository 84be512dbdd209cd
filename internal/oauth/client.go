package oauth

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/names"
)

// Client is a program that wants tokens. What it says of itself proves nothing; only that it is reached at its
// redirect URI, and whose document it names, does.
type Client struct {
	ID           string
	Name         string
	RedirectURIs []string
	CreatedAt    time.Time
}

// Document is the host of the document that describes the client; empty: it registered itself.
func (c Client) Document() string {
	if !isDocument(c.ID) {
		return ""
	}
	u, err := url.Parse(c.ID)
	if err != nil {
		return ""
	}
	return u.Host
}

// isDocument reports whether a client's id is the address of its document.
func isDocument(id string) bool { return strings.Contains(id, "://") }

// Metadata is what a client says of itself, in the words of RFC 7591. What it does not name is ignored.
type Metadata struct {
	ClientID      string   `json:"client_id"`
	ClientName    string   `json:"client_name"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
}

// check refuses what this server cannot give.
func (m Metadata) check() error {
	if !utf8.ValidString(m.ClientName) || utf8.RuneCountInString(m.ClientName) > maxName ||
		!names.Valid(m.ClientName) {
		return refuse(InvalidMetadata, "client_name: must be at most 80 characters, none of them invisible")
	}
	if len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxURIs {
		return refuse(InvalidRedirect, "redirect_uris: must be 1 to 10")
	}
	for i, uri := range m.RedirectURIs {
		if wrong := checkRedirect(uri); wrong != "" {
			return refuse(InvalidRedirect, fmt.Sprintf("redirect_uris[%d]: %s", i, wrong))
		}
	}
	if len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code") {
		return refuse(InvalidMetadata, "grant_types: must have authorization_code")
	}
	if len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code") {
		return refuse(InvalidMetadata, "response_types: must have code")
	}
	return nil
}

// Register stores a client that describes itself. It gives no right, so it is not in the audit log.
func (s *Service) Register(ctx context.Context, m Metadata) (Client, error) {
	m.ClientName = strings.TrimSpace(m.ClientName)
	if err := m.check(); err != nil {
		return Client{}, err
	}
	c := Client{ID: database.NewID(), Name: m.ClientName, RedirectURIs: m.RedirectURIs}
	err := s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		c.CreatedAt = tx.Now()
		if err := insertClient(ctx, tx, c); err != nil {
			return err
		}
		return forgetUnused(ctx, tx, maxUnused)
	}})
	return c, err
}

// unknownClient is the one answer to a client's id that does not work.
func unknownClient() *Refusal {
	return refuse(InvalidClient, "client_id: no such client; it may have been forgotten: register again")
}

// client finds a client by its id: one that registered, or whose document its id is the address of.
func (s *Service) client(ctx context.Context, id string) (Client, error) {
	if isDocument(id) {
		return s.readDocument(ctx, id)
	}
	if !database.IsID(id) {
		return Client{}, unknownClient()
	}
	return findClient(ctx, s.db, id)
}

// readDocument reads what a document says of its client.
func (s *Service) readDocument(ctx context.Context, id string) (Client, error) {
	if wrong := s.checkDocumentURL(id); wrong != "" {
		return Client{}, refuse(InvalidClient, "client_id: "+wrong)
	}
	text, err := s.sources.Fetch(ctx, id, maxDocument)
	if err != nil {
		if ctx.Err() != nil {
			return Client{}, fault.Wrap(err, fault.Unavailable, "the client's document was not read in time")
		}
		return Client{}, refuse(InvalidClient, "client_id: the document at this address cannot be read")
	}
	var m Metadata
	if err := json.Unmarshal(text, &m); err != nil {
		return Client{}, refuse(InvalidClient, "client_id: the document at this address is not one of a client")
	}
	switch {
	case m.ClientID != id:
		return Client{}, refuse(InvalidClient, "client_id: the document at this address is of another client")
	case m.AuthMethod != "" && m.AuthMethod != "none":
		return Client{}, refuse(InvalidClient,
			"client_id: the document asks for another token_endpoint_auth_method than none, which is not supported")
	}
	m.ClientName = strings.TrimSpace(m.ClientName)
	if err := m.check(); err != nil {
		return Client{}, refuse(InvalidClient, "client_id: the document at this address says "+err.Error())
	}
	return Client{ID: id, Name: m.ClientName, RedirectURIs: m.RedirectURIs}, nil
}

// checkDocumentURL says what is wrong with the address of a document; empty: nothing.
func (s *Service) checkDocumentURL(id string) string {
	u, err := url.Parse(id)
	switch {
	case err != nil || len(id) > maxText || !isPrintable(id):
		return "must be the id of a client, or the address of its document"
	case u.Scheme != "https" && !(u.Scheme == "http" && s.sources.MayBePlain(id)):
		return "must begin with https://"
	case u.User != nil || strings.Contains(id, "#") || u.Path == "" || u.Path == "/":
		return "must have a path, and neither a user name nor a fragment"
	case strings.Contains(u.Path, "/../") || strings.Contains(u.Path, "/./") || strings.HasSuffix(u.Path, "/..") ||
		strings.HasSuffix(u.Path, "/."):
		return "must have no dots for a segment of its path"
	}
	return ""
}
