package writ

import (
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/hook/doctor"
)

func doctorCommand(s cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Examine whether the Gemini CLI is guarded here, and say what to do", Args: cobra.NoArgs,
		Long: `Examine whether the Gemini CLI is guarded on this machine and in this folder: the host, its settings and
extensions, the guard file, the server, the key, policies, and every hook, which is started as the host starts
it. Each problem is printed with what to do about it. Exit code 1 says that something failed, or that calls are
only monitored.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := machine()
			if err != nil {
				return err
			}
			doctor.IgnoreVariables()
			findings := doctor.Examine(cmd.Context(), m)
			if asJSON {
				err = cli.WriteJSON(s.Out, map[string]any{
					"healthy": !hasFailed(findings), "monitored": doctor.IsMonitored(findings), "findings": findings,
				})
			} else {
				err = printFindings(s, findings)
			}
			if err == nil && hasFailed(findings) {
				return cli.Ended(cli.ExitFailure)
			}
			return err
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// machine is this machine, with this folder as the project.
func machine() (*doctor.Machine, error) {
	places, err := hostPlaces()
	if err != nil {
		return nil, err
	}
	project, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find this folder: %w", err)
	}
	return &doctor.Machine{Places: places, Project: project, Getenv: os.Getenv, Look: exec.LookPath}, nil
}

func hasFailed(findings []doctor.Finding) bool {
	return slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.State == doctor.Failed })
}

func printFindings(s cli.Streams, findings []doctor.Finding) error {
	marks := map[doctor.State]string{
		doctor.OK: "ok", doctor.Warning: "warn", doctor.Failed: "FAIL", doctor.Skipped: "-",
	}
	problems := 0
	for _, f := range findings {
		if _, err := fmt.Fprintf(s.Out, "%-5s%-14s%s\n", marks[f.State], f.Check, cli.Line(f.Text)); err != nil {
			return err
		}
		if f.Fix != "" {
			fmt.Fprintf(s.Out, "%-19sfix: %s\n", "", cli.Line(f.Fix))
		}
		if f.State == doctor.Failed {
			problems++
		}
	}
	words := "writ: the Gemini CLI is guarded"
	switch {
	case doctor.IsMonitored(findings):
		words = "writ: the Gemini CLI is watched, and not guarded: calls that are not allowed run"
	case problems > 0:
		words = "writ: " + cli.Count(problems, "problem")
	}
	_, err := fmt.Fprintln(s.Err, words)
	return err
}
