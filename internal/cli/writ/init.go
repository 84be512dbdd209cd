package writ

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/cli/credentials"
	"writ/internal/hook/doctor"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/install"
)

func initCommand(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "init", Short: "Guard the host of a coding agent on this machine",
	}
	c.AddCommand(initGemini(s))
	return c
}

// initializing is what `writ init gemini` is asked.
type initializing struct {
	server
	org, policy     string
	agent, manifest string
	wait, answer    int // seconds
	monitor         bool
	check           bool
	noBrowser       bool

	changed func(flag string) bool // whether the command line has a flag
}

func initGemini(s cli.Streams) *cobra.Command {
	var i initializing
	cmd := &cobra.Command{
		Use: "gemini", Short: "Have every tool call of the Gemini CLI decided by a Writ server", Args: cobra.NoArgs,
		Long: `Have every tool call of the Gemini CLI on this machine decided by a Writ server. It writes six hooks into your
settings of the Gemini CLI, an extension with the plan server and slash commands, and the guard file, which says
which server decides and with which key. Everything else in your settings stays as it is; a copy is kept. Running
it again changes only what is not up to date.

It uses your sign-in, or has you sign in, and makes a key that can only ask, report and propose. With WRIT_API_KEY
it uses that key.

With --check nothing is written: exit code 0 says that the Gemini CLI is guarded here, 1 that it is not, and why.`,
		Example: `  writ init gemini
  writ init gemini --url https://writ.example.org --org "Platform Team" --policy coding-agent
  writ init gemini --check`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i.changed = cmd.Flags().Changed
			if i.check {
				return checkGuarded(&i.server, s)
			}
			if err := refuseBeneathHost(); err != nil {
				return err
			}
			return i.run(cmd.Context(), s)
		},
	}
	i.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&i.org, "org", "", "the organization, by id or exact name; that of your sign-in unless given")
	f.StringVar(&i.policy, "policy", "",
		"the policy that must be in force there; a template of this name is put in force if there is no such policy")
	f.StringVar(&i.agent, "agent", "gemini-cli", "the agent's id")
	f.StringVar(&i.manifest, "manifest", "", "the agent's manifest, whose lists deny what they do not name")
	i.wait, i.answer = 60, 5
	cli.NumberFlag(cmd, &i.wait, "wait", "for how many seconds a held call waits for a person; 0 to 600", 0, 600)
	cli.NumberFlag(cmd, &i.answer, "answer",
		"for how many seconds hooks wait for one answer of the server; 1 to 60", 1, 60)
	f.BoolVar(&i.monitor, "monitor", false, "record what would not run, and let it run")
	f.BoolVar(&i.check, "check", false, "only say whether the Gemini CLI is guarded")
	f.BoolVar(&i.noBrowser, "no-browser", false, "only print where to approve this terminal, if you must sign in")
	return cmd
}

// initialized is what `writ init gemini --json` prints.
type initialized struct {
	Server       string   `json:"server"`
	Organization string   `json:"organization"`
	Agent        string   `json:"agent"`
	Mode         string   `json:"mode"`
	Host         string   `json:"hostVersion"` // empty: the Gemini CLI was not found
	KeyID        string   `json:"keyId"`
	KeyMade      bool     `json:"keyMade"` // by this command
	Policy       string   `json:"policy,omitempty"`
	Guard        string   `json:"guardFile"`
	Settings     string   `json:"settings"`
	Backup       string   `json:"backup"`
	Extension    string   `json:"extension"`
	Changed      []string `json:"changed"` // files
	Warnings     []string `json:"warnings"`
}

func (i *initializing) run(ctx context.Context, s cli.Streams) error {
	places, err := hostPlaces()
	if err != nil {
		return err
	}
	earlier := readEarlier(places.Guard())
	access, err := i.access(ctx, s, places, earlier)
	if err != nil {
		return err
	}
	done := initialized{KeyMade: access.made, KeyID: access.keyID, Changed: []string{}, Warnings: []string{}}
	if i.policy != "" {
		if done.Policy, err = i.ensurePolicy(ctx, access); err != nil {
			return err
		}
	}
	guard, err := i.guardFile(places, earlier, access)
	if err != nil {
		return err
	}
	changes, err := install.Install(places, guard, access.ownKeyID())
	done.Changed = append(done.Changed, changes...)
	if err != nil {
		return err
	}
	done.describe(places, guard)
	return show(&i.server, s, done, printInitialized)
}

// describe fills in what was set up, and what a person should know.
func (d *initialized) describe(places install.Places, guard *guardfile.File) {
	d.Server, d.Organization, d.Agent, d.Mode = guard.Server, guard.Organization, guard.Agent, guard.Mode
	d.Guard, d.Settings, d.Extension = guard.Path(), places.Settings(), places.Extension()
	if _, err := os.Stat(places.Backup()); err == nil {
		d.Backup = places.Backup()
	}
	version, _, err := doctor.HostVersion(exec.LookPath)
	if d.Host = version; err != nil {
		d.Warnings = append(d.Warnings, "gemini is not on PATH: npm install -g @google/gemini-cli")
	}
	if guard.Mode == guardfile.Monitor {
		d.Warnings = append(d.Warnings, "calls are only monitored: what is not allowed runs, and is recorded")
	}
}

func printInitialized(s cli.Streams, d initialized) error {
	t := &sheet{}
	t.row("server", d.Server)
	t.row("in", d.Organization)
	t.row("agent", d.Agent)
	t.row("policy", d.Policy)
	t.row("settings", d.Settings)
	t.row("backup", d.Backup)
	t.row("guard file", d.Guard)
	t.row("extension", d.Extension)
	if err := t.print(s); err != nil {
		return err
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(s.Err, "writ: %s\n", cli.Line(warning))
	}
	words := "writ: the Gemini CLI is guarded; writ doctor tries it out"
	if len(d.Changed) == 0 {
		words = "writ: the Gemini CLI was guarded already; nothing was changed"
	}
	_, err := fmt.Fprintln(s.Err, words)
	return err
}

// guardFile is the guard file to write: what an earlier one says counts where the command line says nothing.
func (i *initializing) guardFile(
	places install.Places, earlier guardfile.File, access access,
) (*guardfile.File, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	f := guardfile.File{
		Server:       access.url,
		Key:          access.key,
		Organization: access.org,
		Agent:        i.agent,
		Host:         "gemini",
		Manifest:     i.manifest,
		Mode:         guardfile.Enforce,
		ApprovalWait: i.wait,
		Answer:       i.answer,
		CarryPlan:    earlier.CarryPlan,
		StateDir:     places.State(),
		Protected:    earlier.Protected,
		Writ:         programs.writ,
		PlanServer:   programs.plan,
		Capabilities: programs.capabilities(),
	}
	if i.monitor {
		f.Mode = guardfile.Monitor
	}
	i.keepEarlier(&f, earlier)
	if f.Manifest != "" {
		if f.Manifest, err = filepath.Abs(f.Manifest); err != nil {
			return nil, fmt.Errorf("--manifest: %w", err)
		}
	}
	guard, err := guardfile.At(places.Guard(), f)
	if err != nil {
		return nil, fmt.Errorf("the guard file: %w", err)
	}
	return guard, nil
}

// keepEarlier keeps what was chosen before and the command line does not say.
func (i *initializing) keepEarlier(f *guardfile.File, earlier guardfile.File) {
	if earlier.Key == "" {
		return
	}
	keep(&f.Agent, earlier.Agent, i.changed("agent"))
	keep(&f.Manifest, earlier.Manifest, i.changed("manifest"))
	keep(&f.Mode, earlier.Mode, i.changed("monitor"))
	keep(&f.ApprovalWait, earlier.ApprovalWait, i.changed("wait"))
	keep(&f.Answer, earlier.Answer, i.changed("answer"))
}

// keep takes the earlier value unless the command line has another.
func keep[T any](value *T, earlier T, given bool) {
	if !given {
		*value = earlier
	}
}

// hostPlaces are where the Gemini CLI and Writ keep their files of this user.
func hostPlaces() (install.Places, error) {
	home := os.Getenv("GEMINI_CLI_HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return install.Places{}, fmt.Errorf("find your home folder: %w", err)
		}
	}
	folder := credentials.Default().Folder
	if folder == "" || !filepath.IsAbs(home) || !filepath.IsAbs(folder) {
		return install.Places{}, errors.New("there is no folder for the guard file: set HOME to an absolute path")
	}
	return install.Places{Gemini: filepath.Join(home, ".gemini"), Writ: folder}, nil
}

// programs are those that hooks start.
type programs struct{ writ, plan string }

// findPrograms finds writ and writ-plan beside this program, which is writ-client.
func findPrograms() (programs, error) {
	self, err := os.Executable()
	if err != nil {
		return programs{}, fmt.Errorf("find this program: %w", err)
	}
	if actual, err := filepath.EvalSymlinks(self); err == nil {
		self = actual
	}
	p := programs{filepath.Join(filepath.Dir(self), "writ"), filepath.Join(filepath.Dir(self), "writ-plan")}
	for _, path := range []string{p.writ, p.plan} {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return p, fmt.Errorf("%s is missing: install writ, writ-client and writ-plan in one folder", path)
		}
	}
	return p, nil
}

// capabilities tries whether commands can be confined here.
func (p programs) capabilities() []string {
	folder, err := os.MkdirTemp("", "writ-confine-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(folder)
	command := exec.Command(p.writ, "run", "--write", folder, "--", "true")
	command.Dir = folder
	if command.Run() != nil {
		return nil
	}
	return []string{"confine"}
}

// checkGuarded says whether the Gemini CLI is guarded here, by words and exit code.
func checkGuarded(v *server, s cli.Streams) error {
	m, err := machine()
	if err != nil {
		return err
	}
	findings := doctor.Guarded(m)
	guarded := !hasFailed(findings)
	if v.asJSON {
		err = cli.WriteJSON(s.Out, map[string]any{"guarded": guarded, "findings": findings})
	} else {
		err = printGuarded(s, guarded, findings)
	}
	if err == nil && !guarded {
		return cli.Ended(cli.ExitFailure)
	}
	return err
}

func printGuarded(s cli.Streams, guarded bool, findings []doctor.Finding) error {
	words := "guarded"
	if !guarded {
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
