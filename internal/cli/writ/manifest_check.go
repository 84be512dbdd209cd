package writ

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/manifest"
)

// validated is what `writ manifest validate --json` prints.
type validated struct {
	File     string            `json:"file"`
	Valid    bool              `json:"valid"`
	Problems []manifestProblem `json:"problems"`
	Warnings []manifestProblem `json:"warnings"`
}

type manifestProblem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

func manifestProblems(found []manifest.Problem) []manifestProblem {
	all := make([]manifestProblem, len(found))
	for i, p := range found {
		all[i] = manifestProblem{p.Line, p.Column, p.Field, p.Message}
	}
	return all
}

func manifestValidate(s cli.Streams) *cobra.Command {
	var r reading
	var asJSON bool
	cmd := &cobra.Command{
		Use: "validate [FILE|-]", Short: "Check a manifest without a server", Args: cobra.MaximumNArgs(1),
		Long: `Check a manifest without a server. Each problem is printed with its line, column and member. Variables must be set;
--unresolved checks a manifest where they are not, such as in CI.`,
		RunE: func(_ *cobra.Command, args []string) error {
			file := fileOf(args)
			_, warnings, err := r.read(s, file)
			invalid, isInvalid := errors.AsType[*manifest.Invalid](err)
			switch {
			case asJSON && (err == nil || isInvalid):
				v := validated{File: file, Valid: err == nil, Warnings: manifestProblems(warnings)}
				v.Problems = []manifestProblem{}
				if isInvalid {
					v.Problems = manifestProblems(invalid.Problems)
				}
				if err := cli.WriteJSON(s.Out, v); err != nil || v.Valid {
					return err
				}
				return cli.Ended(cli.ExitFailure)
			case err != nil:
				return refused(file, err)
			}
			printWarnings(s, file, warnings)
			fmt.Fprintf(s.Out, "%s is valid\n", cli.Line(file))
			return nil
		},
	}
	r.addFlags(cmd)
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

func manifestShow(s cli.Streams) *cobra.Command {
	var r reading
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show [FILE|-]", Short: "Show a manifest with its variables and defaults, and without its secrets",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file := fileOf(args)
			m, warnings, err := r.read(s, file)
			if err != nil {
				return refused(file, err)
			}
			if asJSON {
				return cli.WriteJSON(s.Out, m)
			}
			printWarnings(s, file, warnings)
			return printManifest(s, m)
		},
	}
	r.addFlags(cmd)
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

func printManifest(s cli.Streams, m *manifest.Manifest) error {
	t := &sheet{}
	t.row("agent", m.Identity.AgentID)
	t.row("for", m.Identity.UserID)
	t.row("key", m.Identity.APIKey.String())
	t.row("in", m.Environment)
	if m.Proxy.URL == "" {
		t.row("proxy", "the server's own address")
	}
	t.row("proxy", m.Proxy.URL)
	t.row("timeout", m.Proxy.Timeout.String())
	t.row("retries", strconv.Itoa(m.Proxy.MaxRetries))
	var servers []string
	for _, server := range m.Servers {
		servers = append(servers, fmt.Sprintf("%s: %s (%s)", server.ID, server.URL, authWords(server.Auth)))
	}
	t.rows("servers", servers...)
	t.rows("allow", m.Allow...)
	t.rows("deny", m.Deny...)
	if !m.HasLists() {
		t.row("allow", "whatever policies allow")
	}
	t.row("plans live", m.PlanLife.String())
	t.row("proofs", map[bool]string{true: "required", false: "not required"}[m.RequireProofs])
	return t.print(s)
}

func authWords(a manifest.Auth) string {
	switch a.Type {
	case manifest.BearerAuth:
		return "bearer token"
	case manifest.KeyAuth:
		return "API key in " + a.Header
	}
	return "no credentials"
}
