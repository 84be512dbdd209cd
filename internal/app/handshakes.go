package app

import (
	"log"
	"log/slog"
	"strings"
	"time"

	"writ/internal/api/route"
)

// handshakeLog writes what a server of agents' certificates says of its connections. Why one was refused stands nowhere
// else: the agent sees only an alert of TLS. Strangers reach it too, so that few lines a second are for everybody.
type handshakeLog struct {
	logger *slog.Logger
	gate   route.LogGate
	now    func() time.Time
}

const refusedHandshake = "http: TLS handshake error from "

// Write takes one line of the server.
func (h *handshakeLog) Write(line []byte) (int, error) {
	text := strings.TrimSuffix(string(line), "\n")
	said, isRefusal := strings.CutPrefix(text, refusedHandshake)
	address, reason, _ := strings.Cut(said, ": ")
	// Probes of a port connect and say nothing.
	if !isRefusal || reason == "EOF" || !h.gate.MayLog(h.now()) {
		h.logger.Debug(text)
		return len(line), nil
	}
	h.logger.Warn("a connection to the listener of agents was refused", "address", address, "error", reason)
	return len(line), nil
}

func newHandshakeLog(logger *slog.Logger) *log.Logger {
	return log.New(&handshakeLog{logger: logger, now: time.Now}, "", 0)
}
