//go:build amd64 || arm64

package sandbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"writ/internal/confine/sandbox"
)

// TestAttacksWorkUnconfined shows that the attacks are real: without writ run they succeed.
func TestAttacksWorkUnconfined(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, u)
			cmd := exec.CommandContext(t.Context(), attacker(), "attack", "ordinary")
			w.prepare(cmd)
			cmd.Args = append(cmd.Args, w.aims(t, cmd))
			r := finish(t, cmd)
			succeeded := strings.Split(r.out, "\n")
			for _, way := range ways {
				if !way.privileged && !way.maybe && !slices.Contains(succeeded, way.name) {
					t.Errorf("%s fails even when unconfined, and so shows nothing\n%s", way.name, r.errors)
				}
			}
			if slices.Equal(w.state(t, true), newWorld(t, u).state(t, true)) {
				t.Error("the canaries do not show the attacks")
			}
		})
	}
}

// TestEscapes tries every attack from inside: none may succeed, and all that lies outside
// must stay as it was.
func TestEscapes(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		flags := append(flat, "--write", w.workspace, "--read", w.shown, "--read", filepath.Dir(attacker()))
		cmd := w.command(t, append(flags, "--", attacker(), "attack", "all")...)
		cmd.Args = append(cmd.Args, w.aims(t, cmd))
		before := w.state(t, flat == nil)
		r := finish(t, cmd)
		r.want(t, 0, "tried all")
		succeeded := strings.Split(r.out, "\n")
		for _, way := range ways {
			notHeld := flat != nil && (way.metadata || way.reachesOut)
			if slices.Contains(succeeded, way.name) && !notHeld {
				t.Errorf("%s succeeded", way.name)
			}
		}
		if after := w.state(t, flat == nil); !slices.Equal(before, after) {
			t.Errorf("outside:\n%s\nbefore:\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
		if text, err := os.ReadFile(w.workspace + "/over"); err != nil || len(text) != 0 {
			t.Errorf("the attacker could not write its workspace: %v", err)
		}
	})
}

// aims starts what an attacker may reach for, outside, and gives it descriptors.
func (w *world) aims(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	a := aims{
		Workspace: w.workspace, Outside: w.outside, Shown: w.shown, Home: w.home,
		Abstract: "writ-" + filepath.Base(w.root), Socket: w.outside + "/socket", Folder: 3, File: 4,
		Parent: os.Getpid(),
	}
	a.TCP = w.listen(t, "tcp", "127.0.0.1:0")
	w.listen(t, "unix", "@"+a.Abstract)
	w.listen(t, "unix", a.Socket)
	must(t, os.Chmod(a.Socket, 0o777))
	a.UDP = echoUDP(t)
	victim := exec.CommandContext(t.Context(), "/bin/sleep", "1000")
	w.prepare(victim)
	victim.Dir = w.outside
	must(t, victim.Start())
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	a.Victim = victim.Process.Pid
	folder, err := os.Open(w.outside)
	must(t, err)
	file, err := os.OpenFile(w.outside+"/canary", os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { _ = folder.Close(); _ = file.Close() })
	cmd.ExtraFiles = []*os.File{folder, file}
	text, err := json.Marshal(a)
	must(t, err)
	return string(text)
}

func (w *world) listen(t *testing.T, network, address string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func echoUDP(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 16)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(buffer[:n], from)
		}
	}()
	return conn.LocalAddr().String()
}

// state lists all files outside with their content and, if asked, modes, owners, times,
// links and extended attributes.
func (w *world) state(t *testing.T, metadata bool) []string {
	t.Helper()
	var lines []string
	for _, dir := range []string{w.outside, w.shown, w.home} {
		must(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			line := strings.TrimPrefix(path, w.root)
			if entry.Type().IsRegular() {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				line += " " + string(text)
			}
			if metadata {
				line += metadataOf(t, path)
			}
			lines = append(lines, line)
			return nil
		}))
	}
	return lines
}

func metadataOf(t *testing.T, path string) string {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Lstat(path, &stat))
	attributes := make([]byte, 4096)
	n, err := unix.Llistxattr(path, attributes)
	must(t, err)
	return fmt.Sprintf(" %o %d:%d %d links, %v, %q", stat.Mode, stat.Uid, stat.Gid, stat.Nlink, stat.Mtim,
		attributes[:n])
}

// TestRefusedCalls makes each refused system call, and reads it in the report.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		calls := sandbox.RefusedCalls()
		var numbers []string
		for _, number := range slices.Sorted(maps.Keys(calls)) {
			numbers = append(numbers, strconv.Itoa(number))
		}
		script := attacker() + " attack " + strings.Join(numbers, ",")
		flags := append(flat, "--write", w.workspace, "--read", filepath.Dir(attacker()))
		r, report := w.reported(t, flags, script)
		told := map[string]int{}
		for _, count := range report.Calls {
			told[count.Name] = count.Count
		}
		for number, name := range calls {
			r.want(t, 0, fmt.Sprintf("%d %d\n", number, unix.EPERM))
			if told[name] < 1 { // more if a signal has the kernel make the call again
				t.Errorf("the report does not say that %s was refused", name)
			}
		}
		if unobserved := w.run(t, flags, script); unobserved.out != r.out {
			t.Errorf("without a report the answers differ:\n%s", unobserved.out)
		}
	})
}

func TestDescriptorsAreClosed(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		flags := append(flat, "--write", w.workspace, "--read", filepath.Dir(attacker()))
		cmd := w.command(t, append(flags, "--", attacker(), "attack", "descriptors")...)
		w.aims(t, cmd)
		finish(t, cmd).want(t, 0, "[]\n")
	})
}

func TestDirectoryAsStdinIsRefused(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		folder, err := os.Open(w.outside)
		must(t, err)
		defer folder.Close()
		cmd := w.command(t, append(flat, "--write", w.workspace, "--", "/bin/true")...)
		cmd.Stdin = folder
		if r := finish(t, cmd); r.exit != 125 || !strings.Contains(r.errors, "descriptor 0 is a directory") {
			t.Errorf("exit %d: %s", r.exit, r.errors)
		}
	})
}

// TestDevicesKeepTheirModes: the owner of a device, root, could change its mode.
func TestDevicesKeepTheirModes(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		cmd := w.command(t, "--write", w.workspace, "--read", filepath.Dir(attacker()), "--", attacker(), "attack",
			"devnull")
		r := finish(t, cmd)
		r.want(t, 0, "read-only file system read-only file system")
		var stat unix.Stat_t
		must(t, unix.Stat("/dev/null", &stat))
		if stat.Mode&0o777 != 0o666 {
			t.Errorf("/dev/null has mode %o", stat.Mode)
		}
	}
}

// TestTerminal: a command must not type into the terminal that it was started from.
func TestTerminal(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		slave := openTerminal(t, w)
		report := filepath.Join(w.root, "report.json")
		must(t, os.WriteFile(report, nil, 0o666))
		w.own(t)
		flags := append(flat, "--write", w.workspace, "--read", filepath.Dir(attacker()), "--report", report)
		cmd := w.command(t, append(flags, "--", attacker(), "attack", "terminal")...)
		cmd.Stdin = slave
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
		r := finish(t, cmd)
		r.want(t, 0, "operation not permitted")
		waiting, err := unix.IoctlGetInt(int(slave.Fd()), unix.TIOCINQ)
		if err != nil || waiting != 0 {
			t.Errorf("%d bytes were typed, %v", waiting, err)
		}
		// A signal has the kernel make the call again, which counts again.
		if got := readReport(t, report).Calls; len(got) != 1 || got[0].Name != "ioctl" || got[0].Count < 1 {
			t.Errorf("the filter refused %v, want an ioctl", got)
		}
	})
}

func openTerminal(t *testing.T, w *world) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = master.Close() })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = slave.Close() })
	if w.id >= 0 {
		must(t, slave.Chown(w.id, w.id))
	}
	return slave
}

// TestPrivateMemory: shared memory of the command is its own.
func TestPrivateMemory(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		name := "/dev/shm/" + filepath.Base(w.root)
		flags := []string{"--write", w.workspace, "--read", filepath.Dir(attacker())}
		w.run(t, flags, "echo x > "+name+" && cat "+name+" && "+attacker()+" attack sysv").want(t, 0, "x\ntrue\n")
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s is outside", name)
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SHMGET, sharedKey, 0, 0); errno != unix.ENOENT {
			t.Errorf("the memory is outside: %v", errno)
		}
	}
}
