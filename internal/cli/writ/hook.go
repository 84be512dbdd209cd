package writ

import (
	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/cli/hooks"
	"writ/internal/hook"
	"writ/internal/hook/all"
	"writ/internal/hook/doctor"
)

func hookCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hook [--config FILE] EVENT",
		Short: "Answer the host of a coding agent",
		Long: `Answer the host of a coding agent. The host starts this before and after tool calls, with a JSON object on stdin; writ
init sets it up. EVENT is session-start, before-agent, before-tool-selection, before-tool, after-tool or session-end.

Whatever goes wrong, the answer is that the tool must not run, and the exit code is 0.`,
		Example:               `  writ hook --config /home/dev/.config/writ/guard.json before-tool < payload.json`,
		DisableFlagParsing:    true, // what is wrong with a flag must be an answer, too
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if hooks.WantsHelp(args) {
				return cmd.Help()
			}
			doctor.IgnoreVariables() // a project can set them, and would say which server to believe
			if code := hook.Main(args, hooks.Process(), all.Handlers()); code != 0 {
				return cli.Ended(code)
			}
			return nil
		},
	}
}
