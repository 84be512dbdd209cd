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
	"writ/internal/hook/lists"
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

	changed  func(flag string) bool // whether the command line has a flag
	programs programs
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

With --monitor it is watched and not guarded: what is not allowed runs, and is recorded; --monitor=false ends that.

With --check nothing is written: exit code 0 says that the Gemini CLI is guarded here, 1 that it is not or that calls
are only monitored, and why.`,
		Example: `  writ init gemini
  writ init gemini --url https://writ.example.org --org "Platform Team" --policy coding-agent
  writ init gemini --check`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i.changed = cmd.Flags().Changed
			if i.check {
				return checkGuarded(cmd.Context(), &i.server, s)
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
	f.StringVar(&i.manifest, "manifest", "",
		"the agent's manifest, whose lists deny what they do not name; none: it has none any more")
	i.wait, i.answer = 60, 5
	cli.SecondsFlag(cmd, &i.wait, "wait", "for how many seconds a held call waits for a person; 0 to 600", 0, 600)
	cli.SecondsFlag(cmd, &i.answer, "answer",
		"for how many seconds hooks wait for one answer of the server; 1 to 60", 1, 60)
	f.BoolVar(&i.monitor, "monitor", false, "only watch: record what would not run, and let it run; =false enforces again")
	f.BoolVar(&i.check, "check", false, "only say whether the Gemini CLI is guarded; it is not where it is only watched")
	f.BoolVar(&i.noBrowser, "no-browser", false, "only print where to approve this terminal, if you must sign in")
	return cmd
}

// initialized is what `writ init gemini --json` prints.
type initialized struct {
	Server       string   `json:"server"`
	Organization string   `json:"organization"`
	OrgName      string   `json:"organizationName,omitempty"`
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
	if err := i.examine(places, earlier); err != nil {
		return err
	}
	if err := i.refuseUntrusted(ctx); err != nil {
		return err
	}
	access, err := i.access(ctx, s, places, earlier)
	if err != nil {
		return err
	}
	done, err := i.install(ctx, places, earlier, access)
	if err != nil {
		return err
	}
	return show(&i.server, s, *done, printInitialized)
}

// examine checks what can be read here, before a person signs in and a key is made.
func (i *initializing) examine(places install.Places, earlier guardfile.File) (err error) {
	if err := i.findManifest(earlier); err != nil {
		return err
	}
	if i.programs, err = findPrograms(); err != nil {
		return err
	}
	return install.Check(places, i.programs.writ)
}

// install has the policy in force, and guards the host with the key. Where that fails nobody uses a key that was made
// for it, and it is revoked.
func (i *initializing) install(
	ctx context.Context, places install.Places, earlier guardfile.File, access access,
) (done *initialized, err error) {
	defer func() {
		if err != nil {
			err = access.abandon(ctx, err)
		}
	}()
	policy := ""
	if i.policy != "" {
		ensure := i.findPolicy
		if access.person {
			ensure = i.ensurePolicy
		}
		if policy, err = ensure(ctx, access); err != nil {
			return nil, err
		}
	}
	guard, err := i.guardFile(places, earlier, access)
	if err != nil {
		return nil, err
	}
	replaced := install.KeyID(places)
	changes, err := install.Install(places, guard, access.ownKeyID())
	if err != nil {
		return nil, err
	}
	done = &initialized{
		OrgName: access.orgName, KeyMade: access.made, KeyID: access.keyID, Policy: policy,
		Changed: append([]string{}, changes...), Warnings: []string{},
	}
	done.describe(places, guard)
	if len(access.lacks) > 0 {
		done.Warnings = append(done.Warnings, "the key has no scope "+strings.Join(access.lacks, ", ")+
			": what they are for does not work; writ doctor says what that is")
	}
	done.endReplaced(ctx, earlier.Server, replaced)
	return done, nil
}

// endReplaced revokes the key that was made for this machine earlier and that nothing uses any more, or says that it
// stays.
func (d *initialized) endReplaced(ctx context.Context, server, keyID string) {
	if keyID == "" || keyID == d.KeyID {
		return
	}
	if err := revoke(ctx, server, keyID); err != nil {
		d.Warnings = append(d.Warnings, "the key "+keyID+" that was made for this machine earlier is still active: "+
			"revoke it with writ keys revoke "+keyID)
	}
}

// noManifest is what --manifest says where the agent has none any more. An empty text would also be a variable that is
// not set, and without its lists the agent may do more.
const noManifest = "none"

// findManifest finds the manifest that the command line or an earlier guard file names, and reads it: with one that
// cannot be read, no tool would run.
func (i *initializing) findManifest(earlier guardfile.File) (err error) {
	if !i.changed("manifest") {
		i.manifest = earlier.Manifest
	}
	if i.manifest == noManifest {
		i.manifest = ""
	}
	if i.manifest == "" {
		return nil
	}
	if i.manifest, err = filepath.Abs(i.manifest); err != nil {
		return fmt.Errorf("--manifest: %w", err)
	}
	if _, err := lists.Read(i.manifest); err != nil {
		return fmt.Errorf("the manifest %s: %w: mend it (writ manifest validate), or give --manifest %s",
			cli.Line(i.manifest), err, noManifest)
	}
	return nil
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
	t.row("in", nameAndID(d.OrgName, d.Organization))
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
	switch {
	case d.Mode == guardfile.Monitor && len(d.Changed) == 0:
		words = "writ: nothing was changed; the Gemini CLI is watched, and not guarded"
	case d.Mode == guardfile.Monitor:
		words = "writ: the Gemini CLI is watched, and not guarded; writ init gemini --monitor=false guards it"
	case len(d.Changed) == 0:
		words = "writ: the Gemini CLI was guarded already; nothing was changed"
	}
	_, err := fmt.Fprintln(s.Err, words)
	return err
}

// guardFile is the guard file to write: what an earlier one says counts where the command line says nothing.
func (i *initializing) guardFile(
	places install.Places, earlier guardfile.File, access access,
) (*guardfile.File, error) {
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
		Writ:         i.programs.writ,
		PlanServer:   i.programs.plan,
		Capabilities: i.programs.capabilities(),
	}
	if i.monitor {
		f.Mode = guardfile.Monitor
	}
	i.keepEarlier(&f, earlier)
	guard, err := guardfile.At(places.Guard(), f)
	if err != nil {
		return nil, fmt.Errorf("the guard file %s: %w: mend it there, or move the file away and run this again",
			cli.Line(places.Guard()), err)
	}
	return guard, nil
}

// keepEarlier keeps what was chosen before and the command line does not say.
func (i *initializing) keepEarlier(f *guardfile.File, earlier guardfile.File) {
	if earlier.Key == "" {
		return
	}
	keep(&f.Agent, earlier.Agent, i.changed("agent") || earlier.Agent == "")
	usable := earlier.Mode == guardfile.Enforce || earlier.Mode == guardfile.Monitor // else it enforces
	keep(&f.Mode, earlier.Mode, i.changed("monitor") || !usable)
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
