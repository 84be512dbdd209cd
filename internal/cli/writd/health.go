package writd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"writ/internal/config"
)

// healthWait is how long a server may take to say that it is ready: it waits two seconds for its database.
const healthWait = 4 * time.Second

// health asks the server on this machine, for containers that have neither a shell nor curl.
func (c *command) health() *cobra.Command {
	return &cobra.Command{
		Use: "health", Short: "Ask the server on this machine whether it is ready; exit 1 if not", Args: cobra.NoArgs,
		Long: `Ask the server on this machine whether it can serve requests, at GET /ready. The settings say where it listens, and they
must be those of the server. Exit 0 if it is ready, else 1 with the reason.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := c.anySettings()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthWait)
			defer cancel()
			if err := askReady(ctx, settings); err != nil {
				return fmt.Errorf("not ready: %w", err)
			}
			_, err = fmt.Fprintln(c.streams.Out, "ready")
			return err
		},
	}
}

// anySettings are those of the server, or else of a proxy in a process of its own, which has others.
func (c *command) anySettings() (config.Config, error) {
	settings, err := config.Load(c.environ, os.ReadFile)
	if err == nil {
		return settings, nil
	}
	if proxy, proxyErr := config.LoadProxy(c.environ, os.ReadFile); proxyErr == nil {
		return proxy, nil
	}
	return config.Config{}, err
}

// otherSettings is what to look at where the address does not answer as a server does.
const otherSettings = " (PORT, WRIT_LISTEN and WRIT_TLS_CERT must be set here as they are for the server)"

func askReady(ctx context.Context, settings config.Config) error {
	if settings.Port == 0 {
		return errors.New("PORT is 0, so that nobody knows where the server listens")
	}
	host := settings.Listen
	switch host { // whoever listens everywhere also listens here
	case "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	transport := &http.Transport{Proxy: nil} // not by way of another machine
	scheme := "http"
	if settings.UsesTLS() {
		pair, err := settings.TLSKeyPair()
		if err != nil {
			return err
		}
		scheme, transport.TLSClientConfig = "https", onlyCertificate(pair.Certificate[0])
	}
	address := scheme + "://" + net.JoinHostPort(host, strconv.Itoa(settings.Port)) + "/ready"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("%w%s", err, otherSettings)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s%s", address, answer.Status, cmp.Or(reasonIn(answer.Body), otherSettings))
	}
	return nil
}

// reasonIn is what the server says of why, if it says so: it is all that a container without curl shows.
func reasonIn(body io.Reader) string {
	var refusal struct {
		Message string `json:"message"`
	}
	if json.NewDecoder(io.LimitReader(body, 1<<16)).Decode(&refusal) != nil || refusal.Message == "" {
		return ""
	}
	return ": " + refusal.Message
}

// onlyCertificate accepts the configured certificate and no other. Its name is not this machine's, so that the usual
// check cannot be used.
func onlyCertificate(want []byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyPeerCertificate is stricter
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 || !bytes.Equal(raw[0], want) {
				return errors.New("the server has another certificate than WRIT_TLS_CERT")
			}
			return nil
		},
	}
}
