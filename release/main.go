// Command release builds what people install: archives of the programs for six platforms, Debian and RPM packages, a
// container image, the clients for npm and pip, a list of what is inside (SBOM), the licences of that, and the
// checksums of everything.
//
// Two runs on the same commit with the same version of Go give the same bytes: nothing is dated later than the commit,
// nothing depends on the folder, the user, the time zone or the order of a map. It downloads nothing once the modules
// are in the module cache, and the dashboard and the client for TypeScript are built.
//
// It is a module of its own, so that what it needs does not become a dependency of the server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// everywhere is what a release is built for.
const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// release is one run of the command.
type release struct {
	source  string // the repository
	out     string // where the results go
	work    string // what is deleted afterwards
	version string
	time    time.Time // that all files have: the commit's
}

// platform is a system to build for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	source := flag.String("source", "..", "the folder of the repository")
	out := flag.String("out", "../dist", "the folder for the results; it must be empty or absent")
	version := flag.String("version", "", "the version, such as v1.2.3; default: git describe")
	platforms := flag.String("platforms", everywhere, "what to build for, separated by commas")
	flag.Parse()
	r := &release{source: *source, out: *out, version: *version}
	if r.source, err = filepath.Abs(r.source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	wanted, err := parsePlatforms(*platforms)
	if err != nil {
		return err
	}
	if err := r.describe(ctx); err != nil {
		return err
	}
	if err := r.prepare(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	return r.make(ctx, wanted)
}

func parsePlatforms(list string) (platforms []platform, err error) {
	for name := range strings.SplitSeq(list, ",") {
		system, arch, _ := strings.Cut(name, "/")
		if !slices.Contains(strings.Split(everywhere, ","), name) {
			return nil, fmt.Errorf("-platforms: %q is none of %s", name, everywhere)
		}
		platforms = append(platforms, platform{system, arch})
	}
	return platforms, nil
}

// describe finds the version and the time of the commit. SOURCE_DATE_EPOCH gives the time where there is no git.
func (r *release) describe(ctx context.Context) error {
	if r.version == "" {
		text, err := r.output(ctx, "git", "describe", "--tags", "--always", "--dirty")
		if err != nil {
			return fmt.Errorf("find the version, or give -version: %w", err)
		}
		r.version = text
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		var err error
		if epoch, err = r.output(ctx, "git", "log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("find the time of the commit, or set SOURCE_DATE_EPOCH: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit: %w", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	return nil
}

// prepare makes the folders. A folder with other files is refused: their checksums would be listed as ours.
func (r *release) prepare() error {
	found, err := os.ReadDir(r.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%s is not empty", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	r.work, err = os.MkdirTemp("", "writ-release-")
	return err
}

func (r *release) make(ctx context.Context, platforms []platform) error {
	all := append([]platform{host()}, platforms...) // the host's own, to write manuals and completions
	slices.SortFunc(all, func(a, b platform) int { return strings.Compare(a.String(), b.String()) })
	for _, p := range slices.Compact(all) {
		fmt.Fprintln(os.Stderr, "release: building for", p)
		if err := r.build(ctx, p); err != nil {
			return err
		}
	}
	parts, err := r.partsOf(ctx, platforms)
	if err != nil {
		return err
	}
	if err := errors.Join(r.writeSBOM(parts), r.writeLicences(parts), r.writeHelp(ctx)); err != nil {
		return err
	}
	for _, p := range platforms {
		if err := r.pack(p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := r.writeImage(platforms); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if err := r.writeClients(ctx); err != nil {
		return err
	}
	return r.writeSums()
}

// pack makes everything that one platform gets.
func (r *release) pack(p platform) error {
	if err := r.writeArchive(p); err != nil {
		return err
	}
	if p.os != "linux" {
		return nil
	}
	return errors.Join(r.writePackage(p, "deb"), r.writePackage(p, "rpm"))
}

// output is what a command in the repository prints.
func (r *release) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = r.source, os.Stderr
	text, err := cmd.Output()
	return strings.TrimSpace(string(text)), err
}
