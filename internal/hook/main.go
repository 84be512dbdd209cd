package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
)

// guardLimit is how long the guard file may take to be read.
const guardLimit = 5 * time.Second

// Process is what a hook has of its process.
type Process struct {
	In       io.Reader
	Out      io.Writer // gets one answer, whole
	Messages io.Writer // gets text only when no answer can be written
	Signals  <-chan os.Signal
	Getenv   func(string) string

	// Guard is the guard file, if it was read already.
	Guard *guardfile.File

	// Nothing is what an answer that says nothing is written as. The host reads stderr where stdout is empty.
	Nothing string
}

// Command is a command line behind writ hook.
type Command struct {
	Event  Event
	Config string // path of the guard file
}

// Parse reads a command line: [--config FILE] EVENT.
func Parse(args []string) (Command, error) {
	var c Command
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		value, attached := strings.CutPrefix(arg, "--config=")
		switch {
		case attached:
			c.Config = value
		case arg == "--config" && len(args) > 0:
			c.Config, args = args[0], args[1:]
		case strings.HasPrefix(arg, "-"):
			return c, fmt.Errorf("unknown flag, or flag without a value: %s", arg)
		case c.Event != "":
			return c, errors.New("more than one event is named")
		default:
			c.Event = Event(arg)
		}
	}
	if hostNames[c.Event] == "" {
		return c, errors.New("an event must be named: session-start, before-agent, before-tool-selection, " +
			"before-tool, after-tool or session-end")
	}
	if c.Config != "" {
		return c, nil
	}
	var err error
	c.Config, err = guardfile.DefaultPath()
	return c, err
}

// Main answers the event that the arguments name, and returns the exit code: 0 whenever the answer is out.
func Main(args []string, p Process, handlers Handlers) int {
	command, err := Parse(args)
	if err != nil {
		return p.write(handlers.fail(command.Event, err.Error()))
	}
	return p.write(p.answer(command, handlers))
}

// Refuse answers the event that the arguments name with a reason why nothing was decided, and returns the exit code.
func Refuse(args []string, p Process, reason error) int {
	command, _ := Parse(args) // an event that is not known is refused too
	return p.write(Handlers(nil).fail(command.Event, reason.Error()))
}

// answer makes the answer, whatever happens.
func (p *Process) answer(command Command, handlers Handlers) gemini.Answer {
	event := command.Event
	handler := handlers[event]
	if handler == nil {
		return complete(event, handlers.fail(event, "this program does not handle the event"))
	}
	answer, err := within(p.Signals, func(patience *patience) (gemini.Answer, error) {
		return p.decide(command, handler, patience)
	})
	if err != nil {
		answer = handlers.fail(event, err.Error())
	}
	return complete(event, answer)
}

// decide reads what there is to decide about, and has the handler decide. Each step has its own time.
func (p *Process) decide(command Command, handler Handler, patience *patience) (gemini.Answer, error) {
	patience.renew(guardLimit)
	guard, err := p.guard(command.Config)
	if err != nil {
		return gemini.Answer{}, err
	}
	patience.renew(guard.AnswerLimit())
	in, err := p.read(command.Event, guard)
	if err != nil {
		return gemini.Answer{}, err
	}
	limit := handler.Limit(guard)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	patience.renew(limit)
	return handler.Handle(ctx, in), nil
}

func (p *Process) guard(path string) (*guardfile.File, error) {
	if p.Guard != nil && p.Guard.Path() == path {
		return p.Guard, nil
	}
	return guardfile.Read(path)
}

func (p *Process) read(event Event, guard *guardfile.File) (*Input, error) {
	payload, err := gemini.Read(p.In, hostNames[event])
	if err != nil {
		return nil, err
	}
	return &Input{Payload: payload, Guard: guard, Getenv: p.Getenv, Now: time.Now().UTC()}, nil
}

// patience is how long a step of the work may still take.
type patience struct {
	timer *time.Timer
	limit atomic.Int64 // of the step
}

// renew begins a step. The worker does it by itself: whoever waits for it need not wake up.
func (p *patience) renew(limit time.Duration) {
	p.limit.Store(int64(limit))
	p.timer.Reset(limit)
}

// within does work that may hang or panic, and gives up on a signal or when its patience ends. Work that is given up
// on goes on until the process ends.
func within[T any](signals <-chan os.Signal, work func(*patience) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	patience := &patience{timer: time.NewTimer(guardLimit)}
	defer patience.timer.Stop()
	go func() {
		r := result{err: errors.New("the hook crashed")}
		defer func() {
			if problem := recover(); problem != nil {
				r = result{err: fmt.Errorf("the hook crashed: %.200v", problem)}
			}
			done <- r
		}()
		r.value, r.err = work(patience)
	}()
	var none T
	select {
	case r := <-done:
		return r.value, r.err
	case <-patience.timer.C:
		return none, fmt.Errorf("nothing was decided within %v", time.Duration(patience.limit.Load()))
	case <-signals:
		return none, errors.New("the hook was told to end before anything was decided")
	}
}

// write writes the answer at once and nothing else. If that fails, text and an exit code of 2 are what the host takes
// for a deny.
func (p *Process) write(a gemini.Answer) int {
	text, err := a.Text()
	if err == nil && len(text) == 0 {
		text = []byte(p.Nothing)
	}
	if err != nil { // nothing is out yet
		text, err = gemini.Denied("Writ: the answer cannot be written as JSON").Text()
	}
	if err == nil && len(text) > 0 {
		_, err = p.Out.Write(append(text, '\n')) // by the end of the line the shell knows that the answer is whole
	}
	if err != nil {
		fmt.Fprintf(p.Messages, "Writ: the answer cannot be written: %v\n", err)
		return 2
	}
	return 0
}
