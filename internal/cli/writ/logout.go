package writ

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/credentials"
)

// signedOut is what `writ logout --json` prints.
type signedOut struct {
	SignedOut bool   `json:"signedOut"` // false: nobody was signed in
	URL       string `json:"url,omitempty"`
}

func logout(s cli.Streams) *cobra.Command {
	var v server
	cmd := &cobra.Command{
		Use: "logout", Short: "Sign out: remove the sign-in, end its session and revoke its key", Args: cobra.NoArgs,
		Long: `Sign out. The sign-in is removed here in any case. On the server its session ends, and the key that it made is
revoked. A key that was given with --api-key stays valid.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.signOut(cmd.Context(), s) },
	}
	cli.JSONFlag(cmd, &v.asJSON)
	return cmd
}

func (v *server) signOut(ctx context.Context, s cli.Streams) error {
	store := credentials.Default()
	in, err := store.Read()
	if errors.Is(err, credentials.ErrNone) {
		warnOfEnvironment(s)
		return v.printSignedOut(s, store, signedOut{})
	}
	unreadable := err
	if err := store.Remove(); err != nil {
		return err
	}
	warnOfEnvironment(s)
	if unreadable != nil {
		return fmt.Errorf("the sign-in is removed here, but not ended on the server: %w", unreadable)
	}
	if err := end(ctx, in); err != nil {
		return fmt.Errorf("the sign-in is removed here, but not ended on the server: %w", err)
	}
	return v.printSignedOut(s, store, signedOut{SignedOut: true, URL: in.URL})
}

func (v *server) printSignedOut(s cli.Streams, store credentials.Store, out signedOut) error {
	if _, err := os.Stat(store.Published); store.Published != "" && err == nil {
		fmt.Fprintf(s.Err, "writ: %s is of another command line, and is left as it is\n", store.Published)
	}
	return show(v, s, out, func(s cli.Streams, out signedOut) error {
		words := "writ: nobody was signed in"
		if out.SignedOut {
			words = "writ: signed out of " + cli.Line(out.URL)
		}
		_, err := fmt.Fprintln(s.Err, words)
		return err
	})
}

// end ends a sign-in on the server: the key that it made, and the session. A session that is over can end nothing; the
// key may be alive all the same, if the session ended by age, and revokes itself.
func end(ctx context.Context, in credentials.SignIn) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if in.RefreshToken == "" {
		return endKeyAlone(ctx, in)
	}
	err := endSession(ctx, in)
	if client.StatusOf(err) == http.StatusUnauthorized {
		return endKeyAlone(ctx, in)
	}
	return err
}

func endSession(ctx context.Context, in credentials.SignIn) error {
	person, err := asSignedIn(ctx, in)
	if err != nil {
		return err
	}
	if in.KeyID != "" {
		if err := person.RevokeKey(ctx, in.KeyID); err != nil && client.StatusOf(err) != http.StatusNotFound {
			return fmt.Errorf("revoke the key %s: %w", in.KeyID, err)
		}
	}
	return person.Logout(ctx)
}

// endKeyAlone revokes the key of a sign-in without a session, with that key. One that
// is not accepted has ended already.
func endKeyAlone(ctx context.Context, in credentials.SignIn) error {
	if in.KeyID == "" {
		return nil
	}
	err := (&client.Client{BaseURL: in.URL, APIKey: in.APIKey}).RevokeOwnKey(ctx, in.KeyID)
	if err != nil && client.StatusOf(err) != http.StatusUnauthorized {
		return fmt.Errorf("revoke the key %s: %w", in.KeyID, err)
	}
	return nil
}

// asSignedIn is a client for the person of a sign-in that is no longer stored.
func asSignedIn(ctx context.Context, in credentials.SignIn) (*client.Client, error) {
	c := &client.Client{BaseURL: in.URL}
	if in.Fresh() {
		return c.As(in.AccessToken), nil
	}
	tokens, err := c.Refresh(ctx, in.RefreshToken)
	if err != nil {
		return nil, fmt.Errorf("renew the sign-in: %w", err)
	}
	return c.As(tokens.AccessToken), nil
}
