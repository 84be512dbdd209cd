package main

import (
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ingestBody is what an ingest request holds, attributes unread.
type ingestBody struct {
	Product string  `json:"product"`
	Session *string `json:"sessionId"`
	Batches []struct {
		Trace struct {
			ID         string         `json:"id"`
			SessionID  string         `json:"sessionId"`
			Name       string         `json:"name"`
			StartTime  string         `json:"startTime"`
			EndTime    string         `json:"endTime"`
			DurationMs int64          `json:"durationMs"`
			Status     string         `json:"status"`
			UserID     string         `json:"userId"`
			AgentID    string         `json:"agentId"`
			Attributes jsontext.Value `json:"attributes"`
			Tags       []string       `json:"tags"`
		} `json:"trace"`
		Spans []struct {
			ID         string         `json:"id"`
			ParentID   *string        `json:"parentSpanId"`
			SessionID  string         `json:"sessionId"`
			Kind       string         `json:"kind"`
			Name       string         `json:"name"`
			StartTime  string         `json:"startTime"`
			EndTime    string         `json:"endTime"`
			DurationMs int64          `json:"durationMs"`
			Status     string         `json:"status"`
			Attributes jsontext.Value `json:"attributes"`
		} `json:"spans"`
	} `json:"batches"`
}

// decodeFloor reads ingest requests and drops them.
func decodeFloor([]byte) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /observability/spans", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var body ingestBody
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, map[string]int{"accepted": len(body.Batches)})
	})
	return mux, nil
}
