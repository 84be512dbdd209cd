package writ

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/audit/ledger"
	"writ/internal/cli"
)

func auditCommand(s cli.Streams) *cobra.Command {
	audit := &cobra.Command{Use: "audit", Short: "Export an audit log, and check its evidence"}
	audit.AddCommand(auditVerify(s), auditExport(s), auditKey(s), auditCheckpoint(s))
	return audit
}

// maxSmallFile bounds what is read of a file of keys or a checkpoint.
const maxSmallFile = 1 << 20

// verification is what `writ audit verify` is asked.
type verification struct {
	keyFile, checkpointFile, witnessFile, tokenFile, orgID string
	asJSON                                                 bool
}

func auditVerify(s cli.Streams) *cobra.Command {
	var v verification
	cmd := &cobra.Command{
		Use: "verify FILE|URL|-", Short: "Check an export of an audit log, without trusting the server",
		Args: cobra.ExactArgs(1),
		Long: `Check an export of an audit log, without trusting the server: every entry and payload, their order and number, and the
signature over all of them. - reads the export from stdin. A URL, of a server or of an export on it, is fetched with a
person's access token; its keys are pinned the first time, and must be the same afterwards.

Get the key from elsewhere than the export, and keep a checkpoint from time to time: --checkpoint detects a log that
was rewritten, cut or forked since. --witness compares with everything that a witness has seen (WRIT_WITNESS_FILE of the
server, or the file of writd witness).

Of a URL, the server also compares the log with what it has stored beside it: what entries are found by, and policies.

Exit codes: 0 verified, 1 not verified, 2 the command line is wrong, 3 not signed in.`,
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), s, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&v.keyFile, "key", "", "file with the server's public keys for checkpoints, one a line")
	f.StringVar(&v.checkpointFile, "checkpoint", "", "file with an earlier checkpoint of the log")
	f.StringVar(&v.witnessFile, "witness", "", "file of a witness, with the checkpoints that it has seen")
	f.StringVar(&v.orgID, "organization", "", "of a URL: the organization of the log; your only one unless given")
	f.StringVar(&v.tokenFile, "token", "",
		"of a URL: file with an access token, or - for standard input, in place of WRIT_ACCESS_TOKEN and the sign-in")
	cli.JSONFlag(cmd, &v.asJSON)
	return cmd
}

func (v verification) run(ctx context.Context, s cli.Streams, name string) error {
	trust, err := readTrust(v.keyFile, v.checkpointFile)
	if err != nil {
		return err
	}
	if v.witnessFile != "" {
		if trust.Witnessed, err = readWitness(v.witnessFile); err != nil {
			return err
		}
	}
	if name = asURL(name); !isURL(name) {
		source, err := openExport(s, name)
		if err != nil {
			return err
		}
		defer source.Close()
		return v.aboutKey(v.check(s, source, trust, nil))
	}
	server, err := parseRemote(name, v.orgID)
	if err != nil {
		return err
	}
	if err := server.signIn(ctx, v.tokenFile); err != nil {
		return err
	}
	trust, first, err := server.trust(ctx, trust)
	if err != nil {
		return err
	}
	source, err := server.open(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	stored := func() error { return server.checkStored(ctx) }
	err = v.check(s, source, trust, stored)
	switch {
	case v.keyFile != "":
		return v.aboutKey(err)
	case err != nil || !first:
		return server.aboutPin(err)
	}
	return server.pinKeys(s, trust.Keys)
}

// aboutKey adds to an error about a key that is not trusted whose keys were.
func (v verification) aboutKey(err error) error {
	if !errors.Is(err, ledger.ErrUntrustedKey) {
		return err
	}
	return fmt.Errorf("%w: %s does not have it; the operator of the server says whether it changed", err, v.keyFile)
}

// check verifies an export, and what the server has stored beside it, and prints the
// result.
func (v verification) check(s cli.Streams, source io.Reader, trust ledger.Trust, stored func() error) error {
	progress := cli.NewProgress(s)
	report, problem := ledger.Verify(&counted{Reader: source, progress: progress}, trust)
	progress.End()
	if problem == nil && stored != nil {
		problem = stored()
	}
	var err error
	if v.asJSON {
		err = printResult(s, report, problem)
	} else if problem == nil {
		return describe(s, report)
	}
	if problem != nil {
		err = errors.Join(err, fmt.Errorf("not verified: %w", problem))
	}
	return err
}

// counted tells how much of an export was read.
type counted struct {
	io.Reader
	bytes    int64
	progress *cli.Progress
}

func (c *counted) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.bytes += int64(n)
	c.progress.Say("writ: verifying: %d MB", c.bytes>>20)
	return n, err
}

// openExport opens the export to be verified.
func openExport(s cli.Streams, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.In), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the export: %w", err)
	}
	return file, nil
}

func readTrust(keyFile, checkpointFile string) (trust ledger.Trust, err error) {
	if keyFile != "" {
		text, err := readSmall(keyFile)
		if _, keyErr := ledger.ParseKeys(keyFile); err != nil && keyErr == nil {
			return ledger.Trust{}, errors.New("--key names a file, and this is a key: put it into a file, one key a line")
		}
		if err != nil {
			return ledger.Trust{}, fmt.Errorf("read the key: %w", err)
		}
		if trust.Keys, err = ledger.ParseKeys(text); err != nil {
			return ledger.Trust{}, fmt.Errorf("read the key in %s: %w", keyFile, err)
		}
	}
	if checkpointFile != "" {
		if trust.Earlier, err = readSmall(checkpointFile); err != nil {
			return ledger.Trust{}, fmt.Errorf("read the checkpoint: %w", err)
		}
		if strings.TrimSpace(trust.Earlier) == "" {
			return ledger.Trust{}, fmt.Errorf("read the checkpoint: %s is empty", checkpointFile)
		}
		if _, err := ledger.OriginOf(trust.Earlier); err != nil {
			return ledger.Trust{}, fmt.Errorf("read the checkpoint: %s holds no checkpoint, as writ audit checkpoint prints it",
				checkpointFile)
		}
	}
	return trust, nil
}

// readWitness reads the checkpoints that a witness has seen.
func readWitness(name string) ([]string, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the witness: %w", err)
	}
	defer file.Close()
	seen := []string{}
	err = ledger.ReadSightings(file, func(s ledger.Sighting) error {
		seen = append(seen, s.Checkpoint)
		return nil
	})
	return seen, err
}

// readSmall reads a file of keys, of a document or the like.
func readSmall(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := readBounded(file, name)
	return string(text), err
}

// readInput is readSmall, but - is stdin.
func readInput(s cli.Streams, name string) ([]byte, error) {
	if name == "-" {
		return readBounded(s.In, "stdin")
	}
	text, err := readSmall(name)
	return []byte(text), err
}

func readBounded(from io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxSmallFile+1))
	if err == nil && len(text) > maxSmallFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxSmallFile)
	}
	return text, err
}

// printResult prints what --json prints, verified or not.
func printResult(s cli.Streams, report ledger.Report, problem error) error {
	if problem != nil {
		return cli.WriteJSON(s.Out, map[string]any{"verified": false, "problem": problem.Error()})
	}
	return cli.WriteJSON(s.Out, struct {
		Verified bool `json:"verified"`
		ledger.Report
	}{true, report})
}

func describe(s cli.Streams, r ledger.Report) error {
	var text strings.Builder
	fmt.Fprintf(&text, "verified\nlog       %s, epoch %d\nentries   %d", cli.Line(r.Log), r.Epoch, r.Size)
	if r.From > 0 {
		fmt.Fprintf(&text, ", of which %d to %d are in the export", r.From, r.Size-1)
	}
	if r.WithoutPayloads {
		fmt.Fprint(&text, "\npayloads  none in this export, so that erasures were not checked")
	} else {
		fmt.Fprintf(&text, "\npayloads  %d checked, %d erased", r.Payloads, r.Erased)
	}
	fmt.Fprintf(&text, "\nroot      %s\n", r.Root)
	if r.Earlier != nil {
		fmt.Fprintf(&text, "earlier   begins with the %d entries of the checkpoint given\n", r.Earlier.Size)
	}
	if r.Witnessed != nil {
		fmt.Fprintf(&text, "witness   %s compared, all agree; the latest covers %s, epoch %d\n",
			cli.Count(r.Compared, "checkpoint"), cli.Entries(r.Witnessed.Size), r.Witnessed.Epoch)
	}
	for _, restore := range r.Restores {
		lost := "how many entries were lost is not known"
		switch {
		case restore.Known:
			lost = cli.Entries(restore.Lost) + " lost"
		case r.WithoutPayloads:
			lost = "only an export with payloads says how many entries were lost; a viewer gets none"
		}
		if restore.Unproved {
			lost += "; what it went on from was not signed"
		}
		fmt.Fprintf(&text, "restored  at entry %d, epoch %d: %s\n", restore.Index, restore.Epoch, lost)
	}
	if r.KillsBefore {
		fmt.Fprintf(s.Err, "writ: the export begins at entry %d: kills before it were not followed; verify the whole log "+
			"to find an allow behind one\n", r.From)
	}
	if r.KeyFromFile {
		fmt.Fprintln(s.Err,
			"writ: the key came from the export itself, so this shows that the file is whole, not who made it: give --key FILE")
	}
	_, err := io.WriteString(s.Out, text.String())
	return err
}
