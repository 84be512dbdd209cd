package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"writ/client"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/spool"
)

// remote is the server of the guard file. No proxy and no certificate of the environment counts: a project can set both
// for the host, and would then answer in place of the server.
func remote(guard *guardfile.File) *client.Client {
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG"} {
		_ = os.Unsetenv(name)
	}
	limit := guard.AnswerLimit()
	return &client.Client{
		BaseURL:   guard.Server,
		APIKey:    guard.Key,
		UserAgent: "writ-hook",
		HTTP: &http.Client{
			Timeout: limit,
			Transport: &http.Transport{
				TLSHandshakeTimeout: limit, MaxIdleConns: 4, IdleConnTimeout: time.Minute,
			},
		},
	}
}

// deliver sends items of the spool.
func deliver(to *client.Client) spool.Deliver {
	return func(ctx context.Context, kind spool.Kind, bodies []json.RawMessage) error {
		var err error
		switch kind {
		case spool.Report:
			err = to.Call(ctx, http.MethodPost, "/iap/audit/batch", nil, map[string]any{"rows": bodies}, nil)
		case spool.Trace:
			_, err = to.Ingest(ctx, client.Spans{Product: Product, Batches: bodies})
		default:
			return fmt.Errorf("%w: there is no kind %q", spool.ErrRefused, kind)
		}
		switch client.StatusOf(err) {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			return errors.Join(spool.ErrRefused, err)
		}
		return err
	}
}
