package writ

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// hostVariables are those that the host of a coding agent sets for what it starts.
var hostVariables = []string{"GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR"}

// errBeneathHost is the answer to an agent that would act as the person whose sign-in is stored here.
var errBeneathHost = errors.New("this runs beneath the host of a coding agent, and an agent must not answer for a person; " +
	"run it in a terminal of your own")

// byHand makes a command refuse to run beneath the host of a coding agent. It stops an agent that uses the
// stored sign-in of its person as it is; one that hides where it comes from is stopped by its hooks, or not
// at all.
func byHand(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if beneathHost() {
			return errBeneathHost
		}
		return run(cmd, args)
	}
	return cmd
}

// beneathHost reports whether this process, or one above it, was started by the host of a coding agent.
func beneathHost() bool {
	for _, name := range hostVariables {
		if os.Getenv(name) != "" {
			return true
		}
	}
	const most = 64
	pid := os.Getppid()
	for range most {
		environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err == nil && hasHostVariable(environment) {
			return true
		}
		if pid = parentOf(pid); pid <= 1 {
			return false
		}
	}
	return true // nobody starts a terminal that deep
}

func hasHostVariable(environment []byte) bool {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		for _, name := range hostVariables {
			if value, ok := bytes.CutPrefix(variable, []byte(name+"=")); ok && len(value) > 0 {
				return true
			}
		}
	}
	return false
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
