package client

// NoAnswer is the error of a call that no Writ server has answered: nobody did, or somebody else.
type NoAnswer struct {
	BaseURL string // of the client
	Doing   string // "GET /health"
	err     error
}

func (e *NoAnswer) Error() string { return e.Doing + ": " + e.err.Error() }
func (e *NoAnswer) Unwrap() error { return e.err }
