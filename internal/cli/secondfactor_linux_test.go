package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"writ/internal/cli"
	"writ/internal/cli/writ"
)

// wary is a server that wants a proof of the second factor, and notes what it is asked.
type wary struct {
	mu     sync.Mutex // guards the rest
	proved bool
	asked  []string
}

func (s *wary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
	var sent struct{ Code string }
	switch {
	case r.URL.Path == "/user/second-factor/proof":
		if s.proved = json.Unmarshal(body, &sent) == nil && sent.Code == "123456"; s.proved {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"statusCode":400,"message":"code: is wrong"}`)
	case !s.proved:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"statusCode":403,"message":"prove your second factor","code":"second_factor_required"}`)
	default:
		fmt.Fprint(w, `{"index":7}`)
	}
}

// TestCodeAtATerminal: a person is asked for a code, and again after a wrong one; the refused request is then sent as
// it was. Who types nothing is refused, and so is who types three wrong ones.
func TestCodeAtATerminal(t *testing.T) {
	t.Setenv("WRIT_ACCESS_TOKEN", "mine")
	t.Setenv("WRIT_CODE", "")
	for name, c := range map[string]struct {
		typed  string
		proofs int
		fails  string
	}{
		"a right code":      {"123456\n", 1, ""},
		"after a wrong one": {"000000\n123456\n", 2, ""},
		"nothing":           {"\n", 0, "or give one with --code or in WRIT_CODE"},
		"wrong ones":        {"1\n2\n3\n123456\n", 3, "is wrong"},
		"the end of input":  {"\x04", 0, "--code"},
	} {
		server := &wary{}
		listening := httptest.NewServer(server)
		t.Setenv("WRIT_URL", listening.URL)
		written, shown := terminal(t)
		if _, err := io.WriteString(shown, c.typed); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := writ.Run(t.Context(), []string{"kill", "billing", "--reason", "odd calls"},
			cli.Streams{In: written, Out: &out, Err: written})
		listening.Close()
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
		fmt.Fprint(written, "the end")
		if said := read(t, shown, "the end"); !strings.Contains(said, "code of your second factor") {
			t.Errorf("%s: the terminal shows %q", name, said)
		}
		proofs := 0
		for _, asked := range server.asked {
			if strings.HasPrefix(asked, "POST /user/second-factor/proof Bearer mine ") {
				proofs++
			}
		}
		first, last := server.asked[0], server.asked[len(server.asked)-1]
		if proofs != c.proofs || c.fails == "" && (first != last || !strings.Contains(out.String(), "entry 7")) {
			t.Errorf("%s: asked %q, printed %q, want %d proofs", name, server.asked, out.String(), c.proofs)
		}
	}
}
