package evasion

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// driverVariable makes the test binary a driver inside a sandbox.
const driverVariable = "WRIT_EVASION_DRIVER"

const nobody = 65534

func TestMain(m *testing.M) {
	if os.Getenv(driverVariable) == "" {
		os.Exit(m.Run())
	}
	if err := drive(); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

// sandbox is a bubblewrap with a driver in it: no network, no other processes, no
// rights, nothing of the machine but its programs, and these read-only.
type sandbox struct {
	command *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	results *json.Decoder
}

// tool is a program that the sandbox holds beside the system's: its path here and there.
type tool struct{ from, to string }

func openSandbox(tools ...tool) (*sandbox, error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("bubblewrap is missing (scripts/install bubblewrap): %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(bwrap, sandboxArguments...)
	tools = append(tools, tool{self, "/run/driver"})
	for _, t := range tools {
		program, err := os.Open(t.from)
		if err != nil {
			return nil, err
		}
		defer program.Close()
		command.ExtraFiles = append(command.ExtraFiles, program)
		command.Args = append(command.Args, "--perms", "0555", "--file", fmt.Sprint(2+len(command.ExtraFiles)), t.to)
	}
	command.Args = append(command.Args, "--", "/run/driver")
	command.Env, command.Stderr = []string{}, os.Stderr
	// Also a machine's root is nobody in there.
	if os.Geteuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return startSandbox(command)
}

func startSandbox(command *exec.Cmd) (*sandbox, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return &sandbox{command: command, in: in, orders: json.NewEncoder(in), results: json.NewDecoder(out)}, nil
}

// sandboxArguments are those of bubblewrap.
var sandboxArguments = []string{
	"--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv",
	"--setenv", driverVariable, "1",
	"--uid", "1000", "--gid", "1000", "--hostname", "sandbox",
	"--ro-bind", "/usr", "/usr",
	"--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
	"--symlink", "usr/lib", "/lib", "--ro-bind-try", "/lib64", "/lib64",
	"--ro-bind-try", "/etc/alternatives", "/etc/alternatives", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
	"--proc", "/proc", "--dev", "/dev",
	"--size", "268435456", "--tmpfs", "/tmp", "--size", "268435456", "--tmpfs", "/home",
	"--size", "268435456", "--tmpfs", "/run", "--perms", "0755", "--dir", home,
}

// run executes a command; an error is the sandbox's, not the command's.
func (s *sandbox) run(o order) (outcome, error) {
	var result outcome
	if err := s.orders.Encode(o); err != nil {
		return result, fmt.Errorf("give an order: %w", err)
	}
	if err := s.results.Decode(&result); err != nil {
		return result, fmt.Errorf("read what happened: %w", err)
	}
	if result.Error != "" {
		return result, fmt.Errorf("the driver: %s", result.Error)
	}
	return result, nil
}

func (s *sandbox) close() error {
	_ = s.in.Close()
	return s.command.Wait()
}

// workers is how many sandboxes work side by side.
const workers = 2

// runAll runs the orders of indices 0 to n-1 and gives each outcome to done, which is
// never called twice at once. A sandbox that fails is an error of the test.
func runAll(t *testing.T, n int, tools []tool, make func(i int) order, done func(i int, o outcome)) {
	t.Helper()
	var next, lock sync.Mutex
	index := 0
	take := func() int {
		next.Lock()
		defer next.Unlock()
		index++
		return index - 1
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			box, err := openSandbox(tools...)
			if err != nil {
				t.Errorf("open a sandbox: %v", err)
				return
			}
			for i := take(); i < n; i = take() {
				o := make(i)
				result, err := box.run(o)
				if err != nil {
					t.Errorf("run %q: %v", o.Argv, err)
					_ = box.close()
					return
				}
				lock.Lock()
				done(i, result)
				lock.Unlock()
			}
			if err := box.close(); err != nil {
				t.Errorf("close a sandbox: %v", err)
			}
		})
	}
	group.Wait()
}

// bash runs a command as a coding agent's shell does.
func bash(command string) order { return order{Argv: []string{"/bin/bash", "-c", command}} }
