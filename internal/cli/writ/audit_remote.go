package writ

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"writ/client"
	"writ/internal/audit/ledger"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// exportPath is where a server serves exports.
const exportPath = "/audit-log/export"

// remote is an export on a server.
type remote struct {
	client *client.Client
	orgID  string
	since  int64
	advice string // where the server does not accept the token
	pin    string // file with the keys of this server, as they were first seen
}

func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// asURL is a name that no file has, as the address that people type: localhost:8080.
func asURL(name string) string {
	host, _, _ := strings.Cut(name, "/")
	_, port, err := net.SplitHostPort(host)
	if _, notNumber := strconv.ParseUint(port, 10, 16); isURL(name) || err != nil || notNumber != nil {
		return name
	}
	if _, err := os.Stat(name); err == nil {
		return name
	}
	return credentials.WithScheme(name)
}

// parseRemote reads the address of a server, or of an export on it.
func parseRemote(address, orgID string) (*remote, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("the URL must be that of a server, without a user name")
	}
	r := &remote{orgID: orgID}
	base, isExport := strings.CutSuffix(u.Path, exportPath)
	if isExport {
		q := u.Query()
		if named := q.Get("organizationId"); named != "" && orgID == "" {
			r.orgID = named
		}
		if since := q.Get("since"); since != "" {
			if r.since, err = strconv.ParseInt(since, 10, 64); err != nil {
				return nil, errors.New("since in the URL must be a number")
			}
		}
	}
	r.client = &client.Client{BaseURL: u.Scheme + "://" + u.Host + strings.TrimRight(base, "/")}
	folder, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("find the folder for pinned keys: %w", err)
	}
	r.pin = filepath.Join(folder, "writ", "log-keys", strings.ReplaceAll(u.Host, ":", "_")+".txt")
	return r, nil
}

// trust adds the keys of the server: those that were pinned the first time, or, the
// first time, those that the server states.
func (r *remote) trust(ctx context.Context, trust ledger.Trust) (_ ledger.Trust, first bool, err error) {
	if len(trust.Keys) > 0 {
		return trust, false, nil
	}
	text, err := readSmall(r.pin)
	first = errors.Is(err, fs.ErrNotExist)
	switch {
	case first:
		keys, err := r.client.LogKeys(ctx, r.orgID)
		if err != nil {
			return trust, false, hinted(fmt.Errorf("ask the server for its keys: %w", err), r.advice)
		}
		text = strings.Join(keys, "\n")
	case err != nil:
		return trust, false, fmt.Errorf("read the pinned keys: %w", err)
	}
	if trust.Keys, err = ledger.ParseKeys(text); err != nil {
		return trust, false, fmt.Errorf("the keys of %s: %w", r.client.BaseURL, err)
	}
	return trust, first, nil
}

// pinKeys pins the keys that an export was verified with.
func (r *remote) pinKeys(s cli.Streams, keys ledger.Keys) error {
	var text strings.Builder
	for _, key := range keys {
		text.WriteString(key.String() + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(r.pin), 0o700); err != nil {
		return fmt.Errorf("pin the server's keys: %w", err)
	}
	// Never over an existing file: the first pin stays.
	file, err := os.OpenFile(r.pin, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("pin the server's keys: %w", err)
	}
	_, err = io.WriteString(file, text.String())
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("pin the server's keys: %w", err)
	}
	fmt.Fprintf(s.Err, "writ: this time the server's keys are trusted on its own word, and pinned in %s: "+
		"compare them with what its operator says\n", r.pin)
	return nil
}

// aboutPin adds to an error about a key that is not trusted where the trusted ones are pinned: the key was rotated, the
// server was set up anew, or somebody else answers, and only a person can tell which.
func (r *remote) aboutPin(err error) error {
	if !errors.Is(err, ledger.ErrUntrustedKey) {
		return err
	}
	return fmt.Errorf("%w: those of %s are pinned in %s. If its operator confirms that the key changed, or that the server "+
		"was set up anew, remove that file, or give a file with the new key as --key", err, r.client.BaseURL, r.pin)
}

// signIn finds the access token, and with that of a sign-in also its organization.
func (r *remote) signIn(ctx context.Context, tokenFile string) error {
	p := asPerson{server: server{url: r.client.BaseURL}, tokenFile: tokenFile, orgID: r.orgID}
	signedIn, err := p.client(ctx)
	if err != nil {
		return err
	}
	r.client, r.orgID, r.advice = signedIn, p.orgID, p.signInAgain()
	return nil
}

func (r *remote) open(ctx context.Context) (io.ReadCloser, error) {
	body, err := r.client.ExportLog(ctx, r.orgID, r.since)
	return body, hinted(err, r.advice)
}

// maxShownProblems is how many of a server's problems are printed.
const maxShownProblems = 20

// checkStored has the server compare the log with what it has stored beside it.
func (r *remote) checkStored(ctx context.Context) error {
	check, err := r.client.CheckLog(ctx, r.orgID)
	if err != nil {
		return fmt.Errorf("have the server check what it has stored: %w", err)
	}
	if len(check.Problems) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "the server has stored something else than the log says (%s):",
		cli.Count(len(check.Problems), "problem"))
	for _, p := range check.Problems[:min(len(check.Problems), maxShownProblems)] {
		fmt.Fprintf(&text, "\n  %s", cli.Line(p.Kind))
		if p.Entries != "" {
			fmt.Fprintf(&text, " of entry %s", cli.Line(p.Entries))
		}
		fmt.Fprintf(&text, ": %s", cli.Line(p.Message))
	}
	return errors.New(text.String())
}
