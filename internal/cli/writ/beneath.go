package writ

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// hostVariables are those that hosts of coding agents set for what they start, and for nothing else: the terminal that
// an editor shows to a person has none of them. The last is what hosts agreed on that have none of their own.
var hostVariables = []string{
	"GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR",
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT",
	"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI",
	"CURSOR_AGENT", "COPILOT_CLI", "OPENCODE", "OPENCODE_CLIENT", "CLINE_ACTIVE",
	"GOOSE_TERMINAL", "QWEN_CODE", "AUGMENT_AGENT", "ANTIGRAVITY_AGENT", "AMP_CURRENT_THREAD_ID",
	"AI_AGENT",
}

// errBeneathHost is the answer to an agent that would act as the person whose sign-in is stored here.
var errBeneathHost = errors.New("this runs beneath the host of a coding agent, and an agent must not answer for a person; " +
	"run it in a terminal of your own")

// refuseBeneathHost is errBeneathHost where this runs there. It names the variable that told: a person may have set it.
func refuseBeneathHost() error {
	switch variable, beneath := beneathHost(); {
	case !beneath:
		return nil
	case variable == "":
		return errBeneathHost
	default:
		return fmt.Errorf("%w, where %s is not set", errBeneathHost, variable)
	}
}

// byHand makes a command refuse to run beneath the host of a coding agent. It stops an agent that uses the
// stored sign-in of its person as it is; one that hides where it comes from is stopped by its hooks, or not
// at all.
func byHand(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := refuseBeneathHost(); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// beneathHost reports whether this process, or one above it, was started by the host of a coding agent, and which
// variable tells.
func beneathHost() (variable string, beneath bool) {
	for _, name := range hostVariables {
		if os.Getenv(name) != "" {
			return name, true
		}
	}
	const most = 64
	pid := os.Getppid()
	for range most {
		environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil {
			if name, found := hostVariableOf(environment); found {
				return name, true
			}
		}
		if pid = parentOf(pid); pid <= 1 {
			return "", false
		}
	}
	return "", true // nobody starts a terminal that deep
}

// hostVariableOf is the first of hostVariables that has a value in the environment of a process.
func hostVariableOf(environment []byte) (name string, found bool) {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		for _, name := range hostVariables {
			if value, ok := bytes.CutPrefix(variable, []byte(name+"=")); ok && len(value) > 0 {
				return name, true
			}
		}
	}
	return "", false
}

// parentOf is the process that started another, 0 if that is not known here.
func parentOf(pid int) int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "PPid:"); ok {
			parent, _ := strconv.Atoi(strings.TrimSpace(text)) // 0 ends the search
			return parent
		}
	}
	return 0
}
