package writ

import (
	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/cli/run"
	"writ/internal/confine/proxy"
	"writ/internal/confine/sandbox"
)

func runCommand(s cli.Streams) *cobra.Command {
	flags := run.Flags{NewProxy: func(hosts []string) sandbox.Proxy { return proxy.New(hosts) }}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT]...",
		Short: "Run a command within limits that the kernel holds",
		Long: `Run a command within limits that the kernel holds. It may read the system's programs and what --read
and --write name, write what --write names, and reach the hosts of --net, through a proxy. Its /tmp and
home directory are empty and end with it.

What this machine cannot hold is an error, unless --without names it.

Exit code: the command's; 128 and the number of the signal that ended it; 123 if it succeeded and a protected
path appeared or changed; 124 after --timeout; 125 if it could not be confined; 126 if it could not be
started; 127 if it was not found.`,
		Example: `  writ run --write . -- make test
  writ run --write . --net proxy.golang.org:443 --timeout 10m -- go build ./...`,
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			flags.Command = args
			return exitWith(flags.Run(s.Err))
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitWith(run.Refuse(s.Err, err)) })
	cmd.Flags().SetInterspersed(false)
	cli.OwnRules(cmd)
	for _, flag := range flags.List() {
		cmd.Flags().Var(flagValue{flag}, flag.Name, flag.Usage)
	}
	return cmd
}

// flagValue is a flag of package run as cobra knows them.
type flagValue struct{ run.Flag }

func (v flagValue) Set(text string) error { return v.Flag.Set(text) }
func (v flagValue) String() string        { return "" }
func (v flagValue) Type() string          { return "string" }

// exitWith is the error that ends the program with an exit code.
func exitWith(code int) error {
	if code == 0 {
		return nil
	}
	return cli.Ended(code)
}
