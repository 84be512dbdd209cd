package writ

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/cli"
	"writ/internal/mcp/bridge"
)

// serving is what writ mcp serve is told.
type serving struct {
	listen, tokenFile string
	asJSON            bool
}

// mcpServe serves a program of this machine by HTTP.
func mcpServe(s cli.Streams) *cobra.Command {
	var o serving
	cmd := &cobra.Command{
		Use:   "serve -- COMMAND...",
		Short: "Serve an MCP server that is a program by HTTP, so that the proxy can reach it",
		Long: `Start an MCP server that is a program (stdio) for each session that is opened, and serve it by HTTP until this command is
stopped. Register its address with writ mcp register NAME --address URL --auth bearer --secret-file FILE: agents then
reach the program through the proxy. Whoever runs this names the program; nobody who calls it can.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:0", "host:port to listen on")
	cmd.Flags().StringVar(&o.tokenFile, "token-file", "",
		"file with the token that callers present; - is standard input; one is made and printed unless given")
	cli.JSONFlag(cmd, &o.asJSON)
	return cmd
}

// served is what writ mcp serve prints.
type served struct {
	URL   string `json:"url"`
	Token string `json:"token,omitempty"` // that was made
}

func (o *serving) run(ctx context.Context, s cli.Streams, command []string) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("the program cannot be started: %w", err)
	}
	token := rand.Text()
	if o.tokenFile != "" {
		given, err := cli.SecretOf(s.In, "token-file", "the token", o.tokenFile)
		if err != nil {
			return err
		}
		if token = given; len(token) < minBridgeToken {
			return fmt.Errorf("--token-file: the token must have at least %d characters", minBridgeToken)
		}
	}
	listener, err := cli.Listen(o.listen)
	if err != nil {
		return err
	}
	b := bridge.New(bridge.Options{Command: command, Token: token, Stderr: s.Err})
	defer b.Close()
	server := &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	said := served{URL: "http://" + reachable(o.listen, listener) + bridge.Path}
	warnOfPlainBridge(s, o.listen, listener)
	if o.tokenFile == "" {
		said.Token = token
	}
	if err := o.print(s, said); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// reachable is an address at which a listener answers: where it listens on all addresses, that of this machine.
func reachable(asked string, listener net.Listener) string {
	at := listener.Addr().(*net.TCPAddr)
	if !at.IP.IsUnspecified() {
		return at.String()
	}
	host := "127.0.0.1"
	if strings.HasPrefix(asked, "[") {
		host = "::1"
	}
	return net.JoinHostPort(host, strconv.Itoa(at.Port))
}

// warnOfPlainBridge tells whoever runs a bridge that others reach it without TLS.
func warnOfPlainBridge(s cli.Streams, asked string, listener net.Listener) {
	at := listener.Addr().(*net.TCPAddr)
	if at.IP.IsLoopback() {
		return
	}
	where := asked
	if at.IP.IsUnspecified() {
		where += ", all addresses of this machine"
	}
	fmt.Fprintf(s.Err, "writ: the token travels in clear to %s: keep a TLS proxy in front of it, or listen on 127.0.0.1\n",
		cli.Line(where))
}

// minBridgeToken is how many characters nobody guesses.
const minBridgeToken = 16

func (o *serving) print(s cli.Streams, said served) error {
	if o.asJSON {
		return cli.WriteJSON(s.Out, said)
	}
	return printFacts(s, [][2]string{{"url", said.URL}, {"token", said.Token}})
}
