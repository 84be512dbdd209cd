package writ

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

func certRevoke(s cli.Streams) *cobra.Command {
	var p asPerson
	var cause, reason string
	revoke := func(ctx context.Context, c *client.Client, args []string) (client.Certificate, error) {
		return c.RevokeCertificate(ctx, p.orgID, args[0], cause, reason)
	}
	cmd := &cobra.Command{
		Use: "revoke CERTIFICATE --reason WHY", Short: "Revoke a certificate: the next request with it is refused",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil {
				return err
			}
			return refuseOthers(args)
		},
		RunE: asking(&p, s, revoke, printCertificate),
	}
	p.addFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	causes := []string{
		"unspecified", "key_compromise", "superseded", "cessation_of_operation", "privilege_withdrawn",
	}
	cli.ChoiceFlag(cmd, &cause, "cause", "as the revocation list says it: unspecified, key_compromise, superseded, "+
		"cessation_of_operation or privilege_withdrawn", causes...)
	// Only the cause ends the other certificates of a key: who gives it as the reason believes that they have ended.
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if cause == "" && slices.Contains(causes, reason) {
			return fmt.Errorf("--reason says why in words; for the revocation list, give --cause %s too", reason)
		}
		return nil
	}
	_ = cmd.MarkFlagRequired("reason")
	return cmd
}

// errNotHeld ends it with 1 too: whoever goes by the exit code would trust tools that nobody has accepted.
var errNotHeld = errors.New("the certificate is good, and its statement about the tools of the server does not hold")

// errNotGood ends `writ cert check` with 1: the status was printed.
var errNotGood = errors.New("the certificate is worth nothing")

func certCheck(s cli.Streams) *cobra.Command {
	var b byEither
	cmd := &cobra.Command{
		Use: "check FILE|CERTIFICATE", Short: "Ask what a certificate is worth now",
		Long: `Ask the server what a certificate is worth now: a file in PEM, or the id of a certificate. Of an MCP server it also says
whether the statement about its tools holds.

Exit codes: 0 it is good, and its statement holds if it has one, 1 it is not or nobody could tell, 2 the command line is
wrong.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := client.CertificateQuestion{CertificateID: args[0]}
			if _, err := os.Stat(args[0]); err == nil || args[0] == "-" || uuidOf(args[0]) == "" {
				text, err := readPEM(s, args[0], "a certificate")
				if err != nil {
					return err
				}
				if isAuthority(text) {
					return fmt.Errorf("%s is the certificate of an authority, which says nothing of an agent or a server: "+
						"give the one that it signed (NAME.pem where this is NAME-ca.pem)", args[0])
				}
				q = client.CertificateQuestion{Certificate: text}
			}
			checked, err := callEither(cmd.Context(), &b, func(
				ctx context.Context, c *client.Client,
			) (client.CheckedCertificate, error) {
				return c.CheckCertificate(ctx, b.orgID, q)
			})
			if err != nil {
				return err
			}
			if err := show(&b.server, s, checked, printChecked); err != nil {
				return err
			}
			if checked.Status != "good" {
				return fmt.Errorf("%w: it is %s", errNotGood, cli.Line(checked.Status))
			}
			if c := checked.Certificate; c != nil && c.Statement != nil && !c.Statement.Holds {
				return errNotHeld
			}
			return nil
		},
	}
	b.addFlags(cmd)
	return cmd
}

// isAuthority says whether the first certificate of a text in PEM is one that signs others: no agent and no server has
// such a one, and to the server it is only unknown.
func isAuthority(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && c.BasicConstraintsValid && c.IsCA
}

func printChecked(s cli.Streams, c client.CheckedCertificate) error {
	if c.Certificate == nil {
		return printFacts(s, [][2]string{{"status", c.Status}})
	}
	if err := printCertificate(s, *c.Certificate); err != nil || c.Certificate.Statement == nil {
		return err
	}
	return printFacts(s, [][2]string{{"tools now", c.Definitions}, {"problem", c.Problem}})
}

func printCertificate(s cli.Streams, c client.Certificate) error {
	facts := [][2]string{
		{"certificate", c.CertificateID}, {"status", c.Status}, {"agent", c.AgentID}, {"server", c.MCPID},
		{"name", c.SPIFFEID}, {"serial", c.Serial}, {"fingerprint", c.Fingerprint},
		{"expires", c.ExpiresAt.UTC().Format(time.RFC3339)},
	}
	if c.RevokedAt != nil {
		facts = append(facts, [2]string{"revoked", c.RevokedAt.UTC().Format(time.RFC3339)}, [2]string{"cause", c.Cause},
			[2]string{"reason", c.Reason})
	}
	if c.Statement != nil {
		holds := "no: a definition has changed, or the certificate is worth nothing"
		if c.Statement.Holds {
			holds = "yes"
		}
		facts = append(facts, [2]string{"tools", c.Statement.Definitions}, [2]string{"holds", holds})
	}
	return printFacts(s, facts)
}

func certList(s cli.Streams) *cobra.Command {
	var p asPerson
	var f client.CertificateFilter
	var page client.List
	list := func(ctx context.Context, c *client.Client, _ []string) (client.Page[client.Certificate], error) {
		return c.Certificates(ctx, p.orgID, f, page)
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List certificates, newest first", Args: cobra.NoArgs,
		RunE: asking(&p, s, list, printCertificates),
	}
	p.addFlags(cmd)
	flags := cmd.Flags()
	cli.ChoiceFlag(cmd, &f.Kind, "kind", "agent or server; both unless given", "agent", "server")
	flags.StringVar(&f.AgentID, "agent", "", "of this agent")
	flags.BoolVar(&f.Valid, "valid", false, "only those that are neither revoked nor expired")
	page.Limit = 50
	cli.NumberFlag(cmd, &page.Limit, "limit", "how many at most, 1 to 200", 1, mostListed)
	flags.StringVar(&page.Cursor, "cursor", "", "where to go on, as the page before said")
	return cmd
}

func printCertificates(s cli.Streams, found client.Page[client.Certificate]) error {
	if len(found.Items) == 0 {
		fmt.Fprintln(s.Err, "writ: there are no certificates")
		return nil
	}
	rows := make([][]any, len(found.Items))
	for i, c := range found.Items {
		holds := "-"
		if c.Statement != nil {
			holds = "no"
			if c.Statement.Holds {
				holds = "yes"
			}
		}
		subject := c.AgentID
		if subject == "" {
			subject = c.MCPID
		}
		rows[i] = []any{c.CertificateID, c.Kind, subject, c.Status, c.ExpiresAt.UTC().Format(time.RFC3339), holds}
	}
	return printPage(s, "CERTIFICATE\tKIND\tSUBJECT\tSTATUS\tEXPIRES\tHOLDS", rows, found.NextCursor)
}
