// Sdkclient is an MCP client of the official SDK for the browser tests: it knows a URL alone, is sent to consent by a
// 401, and calls a tool with the token that it gets.
//
//	sdkclient URL TOOL
//
// It prints "open LINK" when a person must consent, and "result TEXT" when the tool has answered.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sdkclient:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: sdkclient URL TOOL")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	answers := make(chan *auth.AuthorizationResult, 1)
	go func() { _ = http.Serve(listener, callback(answers)) }() // until the program ends
	redirect := fmt.Sprintf("http://%s/callback", listener.Addr())
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "The SDK's client", RedirectURIs: []string{redirect},
				GrantTypes: []string{"authorization_code", "refresh_token"},
			},
		},
		RedirectURL: redirect,
		AuthorizationCodeFetcher: func(
			ctx context.Context, args *auth.AuthorizationArgs,
		) (*auth.AuthorizationResult, error) {
			fmt.Println("open", args.URL)
			select {
			case answer := <-answers:
				return answer, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	if err != nil {
		return err
	}
	return call(ctx, handler)
}

// callback takes what the browser brings.
func callback(answers chan<- *auth.AuthorizationResult) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.URL.Path == "/callback" {
			answers <- &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}
		}
		fmt.Fprint(w, "the client has it")
	})
}

// call calls the tool, for which the person has to consent first.
func call(ctx context.Context, handler auth.OAuthHandler) error {
	c := mcp.NewClient(&mcp.Implementation{Name: "sdkclient", Version: "1"}, nil)
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1], OAuthHandler: handler}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: os.Args[2], Arguments: map[string]any{}})
	if err != nil {
		return err
	}
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			fmt.Println("result", text.Text)
		}
	}
	return nil
}
