package launch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Name is what the host calls its shell.
const Name = "bash"

// maxAnswer bounds what is read of an answer, which may hold a payload of 16 MiB with each character escaped.
const maxAnswer = 128 << 20

// Is reports whether a process was started as the host's shell.
func Is(args []string) bool { return len(args) > 0 && filepath.Base(args[0]) == Name }

// Program answers hooks in this process. The arguments are those behind "writ hook".
type Program struct {
	// Answers reports whether it can. It reads nothing of the input.
	Answers func(args []string) bool
	// Main answers, and returns the exit code. An answer that says nothing is written as nothing only where the host
	// would take any word for one.
	Main func(args []string) int
}

// Main runs a command of ours and returns the exit code. The arguments are those of the process: bash -c COMMAND.
// Anything else is denied.
//
// Where this program is a copy of the one that the command names, it answers by itself: that saves a process for every
// call. Otherwise it starts that one. Nobody would deny in its place if it were killed. So the deny goes to stderr
// first, which the host reads unless there is an answer on stdout; and the kernel kills this process if it is late.
func Main(args []string, program Program) int {
	if len(args) != 3 || args[1] != "-c" {
		return deny()
	}
	line, ok := Parse(args[2])
	if !ok {
		return deny()
	}
	if kindOf(line.Event) == mustAnswer && line.denyFirst() != nil {
		return deny()
	}
	hook := []string{"--config", line.Config, line.Event}
	if line.isOurs() && program.Answers(hook) && line.prepare() == nil {
		return program.Main(hook)
	}
	return line.start()
}

// grace is how much later than a hook its launcher is killed: until then it denies by itself.
const grace = 2 * time.Second

// denyFirst makes sure that a launcher which is killed has denied, and that one which hangs is killed. Where the kernel
// cannot do the latter, the limit on reading the answer is left.
func (l Line) denyFirst() error {
	if l.Patience > 0 {
		_ = killAfter(l.Patience + grace)
	}
	_, err := os.Stderr.WriteString(unanswered)
	return err
}

// prepare makes sure that this process is killed if it is late with the answer, and then has denied.
func (l Line) prepare() error {
	kind := kindOf(l.Event)
	if kind == neverFails {
		return nil
	}
	if l.Patience > 0 {
		if err := killAfter(l.Patience); err != nil {
			return err
		}
	}
	if kind == mustAnswer {
		return nil // it has
	}
	_, err := os.Stderr.WriteString(unanswered)
	return err
}

// isOurs reports whether the program that the command names is the one that runs here: a copy with its time.
func (l Line) isOurs() bool {
	named, err := os.Stat(l.Writ)
	if err != nil {
		return false
	}
	running, err := os.Stat(self)
	return err == nil && named.Size() == running.Size() && named.ModTime().Equal(running.ModTime())
}

// start has another process answer.
func (l Line) start() int {
	answer, err := l.run()
	switch kind := kindOf(l.Event); {
	case kind == mustAnswer && !isWhole(answer), kind == mayAnswer && err != nil:
		return deny()
	}
	if _, err := os.Stdout.Write(answer); err != nil {
		return 2
	}
	return 0
}

// deny is what the host takes for a deny by its text, and without it by the exit code.
func deny() int {
	_, _ = os.Stdout.WriteString(unanswered)
	return 2
}

// isWhole reports whether an answer ends as every answer of writ does.
func isWhole(answer []byte) bool { return bytes.HasSuffix(answer, []byte("}\n")) }

// run starts the hook, and reads what it prints until it ends or is late.
func (l Line) run() ([]byte, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	messages := os.Stderr
	if kindOf(l.Event) != mayAnswer {
		if messages, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return nil, errors.Join(err, write.Close())
		}
		defer messages.Close()
	}
	hook, err := os.StartProcess(l.Writ, []string{l.Writ, "hook", "--config", l.Config, l.Event}, &os.ProcAttr{
		Env: environment(os.Environ()), Files: []*os.File{os.Stdin, write, messages},
	})
	_ = write.Close() // the hook's copy is the last one
	if err != nil {
		return nil, err
	}
	if l.Patience > 0 {
		if err := read.SetReadDeadline(time.Now().Add(l.Patience)); err != nil {
			return nil, errors.Join(err, hook.Kill())
		}
	}
	answer, err := io.ReadAll(io.LimitReader(read, maxAnswer+1))
	if err != nil || len(answer) > maxAnswer {
		return nil, errors.Join(errors.New("late or too long"), err, hook.Kill())
	}
	if kindOf(l.Event) == mustAnswer {
		return answer, nil // its end says whether it is whole
	}
	state, err := hook.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return answer, err
}

// environment leaves out what the loader, the C library and the runtime of Go read: a project can set it.
func environment(all []string) (kept []string) {
	for _, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"), strings.HasPrefix(name, "MALLOC_"),
			name == "GLIBC_TUNABLES", name == "GODEBUG", name == "GOGC", name == "GOMEMLIMIT", name == "GOMAXPROCS",
			name == "GOTRACEBACK":
		default:
			kept = append(kept, entry)
		}
	}
	return kept
}
