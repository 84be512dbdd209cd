package writd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/audit/witness"
	"writ/internal/cli"
	"writ/internal/config"
	"writ/internal/database"
	"writ/internal/principal"
	"writ/internal/secret"
)

func (c *command) audit() *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Export and check the audit logs, also those of closed organizations"}
	cmd.AddCommand(c.auditExport(), c.auditCheck())
	return cmd
}

func (c *command) auditExport() *cobra.Command {
	var o audit.ExportOptions
	var path string
	cmd := &cobra.Command{
		Use: "export ORGANIZATION|system", Short: "Export the audit log of an organization, open or closed",
		Args: cobra.ExactArgs(1),
		Long: `Export the audit log of an organization, open or closed, or that of the system, in the form that writ audit verify
reads. It is written to stdout, or to a new file. An organization is named by its id or, while it is open, its exact
name: writd org list shows them. Nobody but the operator can export the log of a closed organization:
closing ended the rights of its members.`,
	}
	cmd.RunE = c.onData(func(ctx context.Context, areas *app.Areas, args []string) (any, error) {
		log, err := logNamed(ctx, areas, args[0])
		if err != nil {
			return nil, err
		}
		if path == "" {
			return nil, areas.Audit.Export(ctx, c.streams.Out, log, o)
		}
		entries, err := exportTo(ctx, areas, path, log, o)
		if err == nil {
			fmt.Fprintf(c.streams.Err, "writd: exported %s to %s: verify it with writ audit verify\n",
				cli.Entries(int64(entries)), cli.Line(path))
		}
		return nil, err
	})
	cmd.Flags().StringVar(&path, "file", "", "write to this new file")
	cmd.Flags().Int64Var(&o.Since, "since", 0, "the first entry; hashes stand for what is before")
	cmd.Flags().BoolVar(&o.WithoutPayloads, "without-payloads", false, "leave payloads out; the proofs hold")
	return cmd
}

// logNamed is the log of the system, or of the organization with an id or exact name. An id is not looked up: whoever
// examines damaged data can export a log whose organization is gone.
func logNamed(ctx context.Context, areas *app.Areas, named string) (string, error) {
	if named == audit.System || database.IsID(named) {
		return named, nil
	}
	id, err := areas.Organizations.IDNamed(ctx, principal.Operator(), named)
	return audit.LogOf(id), err
}

// exportTo exports to a new file, which is removed if that fails, and counts the entries.
func exportTo(
	ctx context.Context, areas *app.Areas, path, log string, o audit.ExportOptions,
) (entries int, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("make the file: %w: name another file", err)
	}
	if err != nil {
		return 0, fmt.Errorf("make the file: %w", err)
	}
	lines := &lineCount{to: file}
	err = errors.Join(areas.Audit.Export(ctx, lines, log, o), file.Sync(), file.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return lines.n - 1, err // the first line is the header
}

// lineCount counts the lines that pass.
type lineCount struct {
	to io.Writer
	n  int
}

func (l *lineCount) Write(text []byte) (int, error) {
	l.n += bytes.Count(text, []byte("\n"))
	return l.to.Write(text)
}

var errAltered = errors.New("what is stored is not what was signed")

func (c *command) auditCheck() *cobra.Command {
	var repair bool
	check := &cobra.Command{
		Use: "check", Short: "Compare all audit logs with what is stored, whole", Args: cobra.NoArgs,
		Long: `Compare all audit logs, whole, with what is stored of them and beside them: heads, entries, payloads and erasures, what
entries are found by, tiles, policies, logs that are gone or were put back, and the witness file. It exits 1 when anything differs. A running server does the
same daily, and a sample of it when it starts. --repair-search first writes again, from the records, what entries are
found by.`,
		RunE: c.onData(func(ctx context.Context, areas *app.Areas, _ []string) (any, error) {
			if repair {
				if err := areas.RepairSearch(ctx); err != nil {
					return nil, err
				}
			}
			checked, err := areas.CheckEvidence(ctx, true)
			if err == nil && checked.Found > 0 {
				err = errAltered
			}
			return checked, err
		}),
	}
	check.Flags().BoolVar(&repair, "repair-search", false, "write again what entries are found by")
	return check
}

// witness is a receiver of checkpoints, for another machine than the server's.
func (c *command) witness() *cobra.Command {
	var listen, path, keyFile, tokenFile string
	cmd := &cobra.Command{
		Use: "witness --file FILE --key FILE --token FILE", Short: "Receive and keep the checkpoints of another server",
		Args: cobra.NoArgs,
		Long: `Receive the checkpoints that another server sends (its WRIT_WITNESS_URL and WRIT_WITNESS_TOKEN) and append them to a
file, for writ audit verify --witness. It needs no database. Run it on a machine that whoever alters the server's data
cannot reach, behind TLS. After a rotation of the server's key for checkpoints add the new key to the file of --key,
and start the witness again. What contradicts what was seen before is refused with 409, and reported on stderr, here and by
the server. Watch it here: whoever alters the server's data may hide what the server says.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := readKeys(keyFile)
			if err != nil {
				return err
			}
			text, err := c.readWitnessToken(tokenFile)
			if err != nil {
				return err
			}
			receiver, err := witness.NewReceiver(witness.NewFile(path, time.Now), keys, text, c.refusal)
			if err != nil {
				return err
			}
			return c.receive(cmd.Context(), listen, receiver)
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8090", "host:port to listen on")
	f.StringVar(&path, "file", "", "file to append to")
	f.StringVar(&keyFile, "key", "", "file with the server's public keys for checkpoints, one a line")
	f.StringVar(&tokenFile, "token", "", "file with the token that the server sends, at least 16 characters; - is standard input")
	for _, name := range []string{"file", "key", "token"} {
		_ = cmd.MarkFlagRequired(name) // the flag is there
	}
	return cmd
}

// readWitnessToken reads the token in a file, and refuses what the server refuses.
func (c *command) readWitnessToken(name string) (secret.Text, error) {
	content, err := cli.SecretOf(c.streams.In, "token", "the token", name)
	if err != nil {
		return secret.Text{}, err
	}
	token, err := config.WitnessToken(content)
	if err != nil {
		return secret.Text{}, fmt.Errorf("the token in the file that --token names, as WRIT_WITNESS_TOKEN of the server, %w", err)
	}
	return token, nil
}

// refusal prints what a witness refused or could not store.
func (c *command) refusal(err error) {
	fmt.Fprintln(c.streams.Err, cli.Line(fmt.Sprintf("writd: %s: not taken: %v",
		time.Now().UTC().Format(time.RFC3339), err)))
}

func readKeys(name string) (ledger.Keys, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	keys, err := ledger.ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("read the keys in %s: %w", name, err)
	}
	return keys, nil
}

// receive serves until the context ends.
func (c *command) receive(ctx context.Context, address string, handler http.Handler) error {
	listener, err := cli.Listen(address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	fmt.Fprintf(c.streams.Err, "writd: witness listens on %s\n", listener.Addr())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}
