package writ

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"writ/internal/cli"
	"writ/internal/hook/doctor"
)

// checkGuarded says whether the Gemini CLI is guarded here, by words and exit code. Where calls are only monitored it
// is not: nothing is stopped.
func checkGuarded(ctx context.Context, v *server, s cli.Streams) error {
	m, err := machine()
	if err != nil {
		return err
	}
	doctor.IgnoreVariables()
	findings := doctor.Guarded(ctx, m, v.url)
	guarded := !hasFailed(findings)
	if v.asJSON {
		err = cli.WriteJSON(s.Out, map[string]any{
			"guarded": guarded, "monitored": doctor.IsMonitored(findings), "findings": findings,
		})
	} else {
		err = printGuarded(s, guarded, findings)
	}
	if err == nil && !guarded {
		return cli.Ended(cli.ExitFailure)
	}
	return err
}

// refuseUntrusted refuses a server whose certificate is trusted here, by the environment, and would not be by hooks. A
// process of its own finds out: this one has read the environment.
func (i *initializing) refuseUntrusted(ctx context.Context) error {
	found, err := i.find()
	if err != nil || !strings.HasPrefix(found.URL, "https://") {
		return nil // what is wrong with it is said where it is asked
	}
	command := exec.CommandContext(ctx, i.programs.writ, "init", "gemini", "--check", "--json", "--url", found.URL)
	command.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(doctor.CertificateVariables, name)
	})
	text, _ := command.Output() // it fails where nothing is guarded yet
	var checked struct{ Findings []doctor.Finding }
	if err := json.Unmarshal(text, &checked); err != nil {
		return fmt.Errorf("try the certificate of %s as hooks do: %w", cli.Line(found.URL), err)
	}
	for _, f := range checked.Findings {
		if f.Check == doctor.Certificate {
			return fmt.Errorf("%s; %s", f.Text, f.Fix)
		}
	}
	return nil
}

func printGuarded(s cli.Streams, guarded bool, findings []doctor.Finding) error {
	words := "guarded"
	switch {
	case doctor.IsMonitored(findings):
		words = "monitored: calls that are not allowed run"
	case !guarded:
		words = "not guarded"
	}
	if _, err := fmt.Fprintln(s.Out, words); err != nil {
		return err
	}
	for _, f := range findings {
		if f.State == doctor.Failed || f.State == doctor.Warning {
			fmt.Fprintf(s.Err, "writ: %s: %s; %s\n", f.Check, cli.Line(f.Text), cli.Line(strings.TrimSpace(f.Fix)))
		}
	}
	return nil
}
