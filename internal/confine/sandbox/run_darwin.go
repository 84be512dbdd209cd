package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// Enter does nothing here: the system's own program confines.
func Enter() {}

// Begin does nothing here.
func (o *Options) Begin() {}

// End does nothing here.
func (o *Options) End() {}

type flat struct{}

// Run runs the command under a profile of the system's sandbox and waits for its end.
func Run(o *Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if !o.omits(WithoutProcesses) {
		return nil, &NotHeldError{What: WithoutProcesses, Cause: errors.New(
			"macOS does not bound a command's processes, and does not end them all with it")}
	}
	began := time.Now()
	environment, removed := cleaned(o.Environment, o.Keep)
	private, err := os.MkdirTemp("", "writ-run-")
	if err != nil {
		return nil, fmt.Errorf("make a private directory: %w", err)
	}
	defer os.RemoveAll(private)
	limits, err := macLimitsOf(o, private)
	if err != nil {
		return nil, err
	}
	environment = withVariable(environment, "TMPDIR", limits.write[0])
	net := "none"
	if len(o.Limits.Net) > 0 {
		port, stop, err := serveLocally(o.Proxy)
		if err != nil {
			return nil, err
		}
		defer stop()
		limits.proxyPort, net = port, "proxy"
		environment = withProxy(environment, "127.0.0.1:"+strconv.Itoa(port))
	}
	before := watch(limits.protected, limits.write)
	end, timedOut, err := runProfile(o, limits.profile(), environment)
	if err != nil {
		return nil, err
	}
	report := newReport(o, removed, began)
	report.Held = Held{System: "darwin", Namespaces: []string{}, Quotas: o.Quotas, Net: net}
	report.Exit, report.Signal, report.TimedOut = end.Exit, end.Signal, timedOut
	report.Hosts = append(report.Hosts, o.refusedHosts()...)
	report.tell(changes(before))
	return report, nil
}

func macLimitsOf(o *Options, private string) (macLimits, error) {
	var l macLimits
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{append([]string{private}, o.Limits.Write...), &l.write}, {o.Limits.Read, &l.read}} {
		for _, path := range list.from {
			actual, err := o.follow(path)
			if err != nil {
				return l, err
			}
			*list.to = append(*list.to, actual)
		}
	}
	l.protected = protectedPaths(l.write[1:], o.Limits.Protect)
	return l, nil
}

// serveLocally lets the proxy listen on a free port.
func serveLocally(proxy Proxy) (port int, stop func(), err error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, nil, fmt.Errorf("listen for the proxy: %w", err)
	}
	defer listener.Close()
	socket, err := listener.File()
	if err != nil {
		return 0, nil, fmt.Errorf("listen for the proxy: %w", err)
	}
	stop, err = proxy.Serve(socket)
	return listener.Addr().(*net.TCPAddr).Port, stop, err
}

// runProfile starts the command in a group of its own, which a timeout ends.
func runProfile(o *Options, profile string, environment []string) (end ending, timedOut bool, err error) {
	cmd := exec.Command("/usr/bin/sandbox-exec", append([]string{"-p", profile, "--"}, o.Command...)...)
	cmd.Dir, cmd.Env = o.Dir, environment
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for fd := 3; fd < 4096; fd++ {
		syscall.CloseOnExec(fd)
	}
	for resource, value := range map[int]uint64{
		syscall.RLIMIT_FSIZE: o.Quotas.File, syscall.RLIMIT_NOFILE: o.Quotas.Files, syscall.RLIMIT_CORE: 0,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return end, false, fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	if err := cmd.Start(); err != nil {
		return end, false, &NotHeldError{Cause: err}
	}
	group := -cmd.Process.Pid
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for received := range signals {
			if number, ok := received.(syscall.Signal); ok {
				_ = syscall.Kill(group, number)
			}
		}
	}()
	if o.Timeout > 0 {
		timer := time.AfterFunc(o.Timeout, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
		defer func() { timedOut = !timer.Stop() }()
	}
	_ = cmd.Wait()
	_ = syscall.Kill(group, syscall.SIGKILL)
	return endOf(cmd.ProcessState.Sys().(syscall.WaitStatus)), timedOut, nil
}

func endOf(status syscall.WaitStatus) ending {
	if status.Signaled() {
		return ending{Exit: 128 + int(status.Signal()), Signal: status.Signal().String()}
	}
	return ending{Exit: status.ExitStatus()}
}

// identity tells whether a file is the same and unchanged.
func identity(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(stat.Dev, stat.Ino, stat.Ctimespec)
}
