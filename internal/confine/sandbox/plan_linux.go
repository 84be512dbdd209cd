//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// systemDirs are what every command may read: programs, libraries and their settings.
// Homes, /run, /var, /srv and /mnt are not among them.
var systemDirs = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store",
	"/sys/devices/system/cpu",
}

// kind is how a path of the command's file system is made. The zero value hides.
type kind int

const (
	hidden   kind = iota // an empty, read-only file or directory
	readable             // the path itself, read-only
	writable             // the path itself
	held                 // the path itself, on a mount of its own, so that it cannot be renamed
	private              // an empty, writable directory that ends with the command
	setting              // a readable file of /etc, if it is there; it may be a link to another one there
)

// mountPoint is one path of the command's file system.
type mountPoint struct {
	Path string `json:"path"`
	Kind kind   `json:"kind"`
}

// plan is all that the first process of a confinement needs to know.
type plan struct {
	Command     []string          `json:"command"`
	Dir         string            `json:"dir"`
	Environment []string          `json:"environment"`
	Mounts      []mountPoint      `json:"mounts"` // parents first
	Links       map[string]string `json:"links"`  // symbolic links to make, by path
	Grants      []mountPoint      `json:"grants"` // Landlock's rules: what may be read or written
	Quotas      Quotas            `json:"quotas"`
	Landlock    int               `json:"landlock"` // the interface's version; 0 is none
	Namespaces  bool              `json:"namespaces"`
	Proxy       bool              `json:"proxy"`
	Observe     bool              `json:"observe"`
	AsRoot      bool              `json:"asRoot"`       // the system's root started it
	AnyProcs    bool              `json:"anyProcesses"` // without a limit of processes
}

// paths collects the mount points of a plan. A later entry replaces an earlier one of the
// same path.
type paths struct {
	points map[string]kind
	links  map[string]string
}

func (p *paths) add(path string, k kind) { p.points[path] = k }

// bind adds a path of the caller under its real name. Where the caller wrote another name,
// that leads there too.
func (p *paths) bind(o *Options, path string, k kind) (string, error) {
	actual, err := o.follow(path) // again: it may have changed since the options were checked
	if err != nil {
		return "", err
	}
	p.add(actual, k)
	if clean := filepath.Clean(path); clean != actual {
		p.links[clean] = actual
	}
	return actual, nil
}

// sorted lists the mount points, parents first.
func (p *paths) sorted() []mountPoint {
	points := make([]mountPoint, 0, len(p.points))
	for path, k := range p.points {
		points = append(points, mountPoint{Path: path, Kind: k})
	}
	slices.SortFunc(points, func(a, b mountPoint) int { return strings.Compare(a.Path, b.Path) })
	return points
}

// planPaths lays out what the command sees.
func planPaths(o *Options, asRoot bool) (*paths, error) {
	p := &paths{points: map[string]kind{}, links: map[string]string{}}
	flat := o.omits(WithoutNamespaces)
	p.addSystem(flat)
	if asRoot {
		p.hideSecrets(flat)
	}
	p.add("/tmp", private)
	var write []string
	for _, dir := range o.Limits.Read {
		if _, err := p.bind(o, dir, readable); err != nil {
			return nil, fmt.Errorf("--read: %w", err)
		}
	}
	for _, dir := range o.Limits.Write {
		actual, err := p.bind(o, dir, writable)
		if err != nil {
			return nil, fmt.Errorf("--write: %w", err)
		}
		write = append(write, actual)
	}
	p.addHome(o.Home)
	for _, path := range protectedPaths(write, o.Limits.Protect) {
		p.protect(path, write)
	}
	return p, nil
}

// addSystem shows the system. Landlock's rules pass over what is absent or a link, so that without namespaces nobody
// looks here.
func (p *paths) addSystem(flat bool) {
	for _, dir := range systemDirs {
		if flat {
			p.add(dir, readable)
			continue
		}
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink == 0:
			p.add(dir, readable)
		default:
			if target, err := os.Readlink(dir); err == nil {
				p.links[dir] = target
			}
		}
	}
}

// hideSecrets keeps from a command of root what other users may not read in /etc and /opt: it
// owns those files. Landlock cannot hide a part of what it shows, so it shows less.
func (p *paths) hideSecrets(flat bool) {
	delete(p.points, "/opt") // too large to look through
	if !flat {
		for _, secret := range secretsOf("/etc") {
			p.add(secret, hidden)
		}
		return
	}
	delete(p.points, "/etc")
	for _, name := range publicSettings {
		p.add("/etc/"+name, setting)
	}
}

// publicSettings are the parts of /etc that programs need and that hold no secret.
var publicSettings = []string{
	"passwd", "group", "hosts", "hostname", "host.conf", "nsswitch.conf", "resolv.conf", "services", "protocols",
	"localtime", "timezone", "locale.alias", "locale.conf", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives",
	"ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "pki/ca-trust", "mime.types", "magic",
	"os-release", "lsb-release", "debian_version", "profile", "profile.d", "bash.bashrc", "bashrc", "inputrc",
	"terminfo", "shells", "gitconfig", "fonts", "python3", "perl", "java",
}

// addHome puts an empty home in the place of the person's, unless the caller named it or
// it holds the system.
func (p *paths) addHome(home string) {
	actual, err := filepath.EvalSymlinks(home)
	if home == "" || err != nil || actual == "/" {
		return
	}
	for path := range p.points {
		isSystem := slices.Contains(systemDirs, path)
		if isSystem && within(path, actual) || !isSystem && path != "/tmp" && within(actual, path) {
			return
		}
	}
	p.add(actual, private)
	if clean := filepath.Clean(home); clean != actual {
		p.links[clean] = actual
	}
}

// protect makes an existing path read-only, and holds the directories above it in place.
// Of a symbolic link, what it leads to is protected where the command could write it.
func (p *paths) protect(path string, write []string) {
	actual, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // absent: reported if it appears
	}
	for _, dir := range write {
		if !within(actual, dir) || actual == dir {
			continue
		}
		p.add(actual, readable)
		for above := filepath.Dir(actual); above != dir; above = filepath.Dir(above) {
			if _, taken := p.points[above]; !taken {
				p.add(above, held)
			}
		}
	}
}

// unheld are the protected paths that nothing holds: those that are absent or links, and
// all of them without namespaces. They are looked at afterwards.
func (p *paths) unheld(protected []string, namespaces bool) []string {
	return slices.DeleteFunc(protected, func(path string) bool { return namespaces && p.points[path] == readable })
}

// grants are Landlock's rules for a layout. A rule cannot take away what another gives: what
// is hidden or protected inside is held by the mounts.
func (p *paths) grants() []mountPoint {
	var grants []mountPoint
	for _, point := range p.sorted() {
		switch point.Kind {
		case hidden, held:
		case readable, setting:
			grants = append(grants, point)
		default:
			grants = append(grants, mountPoint{Path: point.Path, Kind: writable})
		}
	}
	return grants
}

// flat takes out what only namespaces can make: private directories, and read-only ones
// inside writable ones. The caller gives a private directory of its own.
func (p *paths) flat(o *Options, own string) error {
	for _, read := range o.Limits.Read {
		for _, write := range o.Limits.Write {
			if read != write && within(read, write) {
				return fmt.Errorf("--read: %s is inside %s, which --write names; that needs namespaces", read, write)
			}
		}
	}
	maps.DeleteFunc(p.points, func(_ string, k kind) bool { return k == held || k == private })
	p.add(own, writable)
	return nil
}

var errOutside = errors.New("the working directory is not visible to the command: " +
	"name it with --read or --write, or start elsewhere")

// sees reports whether the command will find a directory of the caller.
func (p *paths) sees(dir string) bool {
	for path, k := range p.points {
		if k != hidden && k != private && within(dir, path) {
			return true
		}
	}
	return dir == "/"
}
