package writ

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// certificates holds the commands about certificates of agents and MCP servers.
func certificates(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "cert", Short: "Certify agents and MCP servers",
		Long: `Issue, check, rotate and revoke certificates with which agents and MCP servers of an organization prove who they are.
You act as the person who signed in with writ login, or whose access token is in WRIT_ACCESS_TOKEN or in the file that
--token names. With --with-key an agent's own API key gets a certificate for that agent.`,
	}
	c.AddCommand(byHand(certIssue(s)), byHand(certRotate(s)), byHand(certRevoke(s)), certCheck(s), certList(s))
	return c
}

// byEither is a command that a person uses, or an agent with its API key.
type byEither struct {
	asPerson
	withKey bool
}

func (b *byEither) addFlags(cmd *cobra.Command) {
	b.asPerson.addFlags(cmd)
	cmd.Flags().BoolVar(&b.withKey, "with-key", false, "use the API key in place of your sign-in")
}

// callEither asks the server one thing, as a person or with the API key.
func callEither[T any](
	ctx context.Context, b *byEither, ask func(context.Context, *client.Client) (T, error),
) (T, error) {
	if !b.withKey {
		return call(ctx, &b.asPerson, ask)
	}
	answer, _, err := callWithKey(ctx, &b.server, ask)
	return answer, err
}

// certOrder is a certificate that is wanted, and where it goes.
type certOrder struct {
	byEither
	n       client.NewCertificate
	csrFile string
	out     string
	life    time.Duration
	key     []byte // that was made here, in PEM
}

func (o *certOrder) addFlags(cmd *cobra.Command) {
	o.byEither.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.csrFile, "csr", "", "file with a certificate request in PEM, in place of a key that is made here; - is standard input")
	f.StringVar(&o.out, "out", "", "writes OUT.pem, OUT.key (unless --csr is given) and OUT-ca.pem")
	cli.DurationFlag(cmd, &o.life, "life", "how long it is valid, 5m to 7d, as 8h; a day unless given")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("life") && (o.life < leastLife || o.life > mostLife) {
			return errors.New("--life must be from 5m to 7d")
		}
		name := o.out[strings.LastIndexByte(o.out, '/')+1:]
		if cmd.Flags().Changed("out") && strings.Trim(name, ".") == "" {
			return fmt.Errorf("--out is a folder: name the files in it too, as %s", filepath.Join(o.out, "NAME"))
		}
		return nil
	}
}

// leastLife and mostLife are how long a server lets certificates be valid.
const leastLife, mostLife = 5 * time.Minute, 7 * 24 * time.Hour

// refuseUnwritable refuses files that cannot be written, before anything is issued. No file is written over.
func (o *certOrder) refuseUnwritable() error {
	for _, name := range o.files() {
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s is there already, and is not written over", name)
		}
	}
	folder := filepath.Dir(o.out)
	attempt, err := os.CreateTemp(folder, ".writ-cert-*")
	if err != nil {
		return fmt.Errorf("nothing was issued, because no file can be written in %s: %w", folder, cause(err))
	}
	return errors.Join(attempt.Close(), os.Remove(attempt.Name()))
}

// cause is why a file cannot be written, without the file, which is one that was only tried.
func cause(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	return err
}

// prepare reads or makes the request.
func (o *certOrder) prepare(s cli.Streams) error {
	o.n.LifeSeconds = int64(o.life / time.Second)
	if err := o.refuseUnwritable(); err != nil {
		return err
	}
	if o.csrFile != "" {
		var err error
		o.n.CSR, err = readPEM(s, o.csrFile, "a certificate request")
		return err
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, private)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	o.n.CSR = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	o.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return nil
}

// readPEM reads a file that holds something in PEM, to send it to a server: no private key, which a slip may name. An
// empty file, as of a program that failed, would be as none to the server.
func readPEM(s cli.Streams, file, what string) (string, error) {
	text, err := readInput(s, file)
	switch {
	case err != nil:
	case strings.TrimSpace(string(text)) == "":
		err = fmt.Errorf("%s is empty: it must hold %s in PEM", file, what)
	case strings.Contains(string(text), "PRIVATE KEY-----"):
		err = fmt.Errorf("%s holds a private key, which is not sent: give %s", file, what)
	}
	if err != nil {
		return "", err
	}
	return string(text), nil
}

// files are the names of the certificate, the authority's and the key.
func (o *certOrder) files() []string {
	names := []string{o.out + ".pem", o.out + "-ca.pem"}
	if o.csrFile == "" {
		names = append(names, o.out+".key")
	}
	return names
}

// write stores the certificate and its key, which nobody else may read.
func (o *certOrder) write(made client.IssuedCertificate) error {
	texts := [][]byte{[]byte(made.Certificate.Certificate), []byte(made.Authority), o.key}
	for i, name := range o.files() {
		if err := writePrivate(name, texts[i]); err != nil {
			return fmt.Errorf("certificate %s was issued, and %s was not written: %w: revoke it, with writ cert revoke %[1]s",
				made.CertificateID, name, err)
		}
	}
	return nil
}

// writePrivate writes a file that does not exist yet, and that nobody else may read.
func writePrivate(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// run has a certificate issued by ask, and writes and prints it.
func (o *certOrder) run(
	ctx context.Context, s cli.Streams,
	ask func(ctx context.Context, c *client.Client) (client.IssuedCertificate, error),
) error {
	if err := o.prepare(s); err != nil {
		return err
	}
	made, err := callEither(ctx, &o.byEither, ask)
	if err != nil {
		return err
	}
	if err := o.write(made); err != nil {
		return err
	}
	return show(&o.server, s, made.Certificate, printCertificate)
}

func certIssue(s cli.Streams) *cobra.Command {
	var o certOrder
	cmd := &cobra.Command{
		Use:   "issue (--agent ID | --server NAME) --out NAME",
		Short: "Issue a certificate for an agent or an MCP server",
		Long: `Issue a certificate for a registered agent or an approved MCP server. The private key is made on this machine and
stays here, in OUT.key; with --csr it is wherever the request was made.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), s, func(
				ctx context.Context, c *client.Client,
			) (client.IssuedCertificate, error) {
				return c.IssueCertificate(ctx, o.orgID, o.n)
			})
		},
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.n.AgentID, "agent", "", "the id of the agent")
	cmd.Flags().StringVar(&o.n.MCPID, "server", "", "the id or name of the MCP server")
	cmd.MarkFlagsOneRequired("agent", "server")
	cmd.MarkFlagsMutuallyExclusive("agent", "server")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}
