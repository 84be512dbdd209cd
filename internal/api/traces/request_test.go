package traces_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"writ/client"
	"writ/internal/database"
	"writ/internal/testserver"
)

// one is a request with one valid batch and further members before it.
func (o *observed) one(members string) string {
	return fmt.Sprintf(`{%s"batches":[%s]}`, members, sent(o.t, batch(o.trace(nil)))[0])
}

// refuseRequest wants the request as a whole refused, and nothing stored.
func (o *observed) refuseRequest(body, field string) {
	o.t.Helper()
	answer := o.post(body)
	if fields := answer.ErrorFields(o.t, http.StatusBadRequest); len(fields) != 1 || fields[0] != field {
		o.t.Errorf("complains of %q, want %q: %s", fields, field, answer.Body)
	}
	if sum := o.summary(1); sum.TotalTraces != 0 {
		o.t.Errorf("%d traces of a refused request are stored", sum.TotalTraces)
	}
}

// TestIngestRequest is what concerns a request as a whole (4.1 rules 1 and 2).
func TestIngestRequest(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("The body must be an object", func(t *testing.T, o *observed) {
			for _, body := range []string{`[]`, `"x"`, `null`, `7`} {
				o.refuseRequest(body, "body")
			}
		})
		rule("The body must not contain orgId, not even its own organization", func(t *testing.T, o *observed) {
			o.refuseRequest(o.one(`"product":"p","orgId":"`+o.org+`",`), "orgId")
		})
		rule("The body must not contain orgId, not even as null", func(t *testing.T, o *observed) {
			o.refuseRequest(o.one(`"product":"p","orgId":null,`), "orgId")
		})
		rule("Inside attributes orgId is data", func(t *testing.T, o *observed) {
			detail := o.stored(o.trace(m{"attributes": m{"orgId": "theirs"}}), o.span("span", m{
				"attributes": m{"orgId": nil},
			}))
			if string(detail.Attributes) != `{"orgId":"theirs"}` ||
				string(detail.Spans[0].Attributes) != `{"orgId":null}` {
				t.Errorf("attributes %s and %s", detail.Attributes, detail.Spans[0].Attributes)
			}
		})
		rule("product is required", func(t *testing.T, o *observed) { o.refuseRequest(o.one(""), "product") })
		rule("product must be a string", func(t *testing.T, o *observed) {
			for _, value := range []string{"5", "null", "true", `["p"]`, `{}`} {
				o.refuseRequest(o.one(`"product":`+value+`,`), "product")
			}
		})
		rule("Of product only the type is enforced", func(t *testing.T, o *observed) {
			for _, product := range []string{"", "p", strings.Repeat("p", 101)} {
				trace := o.trace(nil)
				got, err := o.agent.Ingest(t.Context(), client.Spans{Product: product, Batches: sent(t, batch(trace))})
				if err != nil || got.Accepted != 1 {
					t.Errorf("product of %d characters: %+v, %v", len(product), got, err)
				} else if read := o.read(trace["id"].(string)); read.Product != product {
					t.Errorf("product is %q, want %q", read.Product, product)
				}
			}
		})
		rule("The product of the API key overrides that of the body", func(t *testing.T, o *observed) {
			key, err := o.owner.CreateKey(t.Context(), client.NewKey{
				Name: "agent", OrganizationID: o.org, Product: "of-the-key",
			})
			if err != nil {
				t.Fatal(err)
			}
			o.agent = o.Public.WithKey(key.APIKey)
			session := database.NewID()
			detail := o.stored(o.trace(m{"sessionId": session}))
			if detail.Product != "of-the-key" || o.session(session).Product != "of-the-key" {
				t.Errorf("product is %q, of the session %q", detail.Product, o.session(session).Product)
			}
		})
		rule("batches must be an array of 1 to 500", func(t *testing.T, o *observed) {
			many := strings.Repeat(`{},`, 500) + `{}`
			for _, batches := range []string{`[]`, `{}`, `null`, `"x"`, `[` + many + `]`} {
				o.refuseRequest(`{"product":"p","batches":`+batches+`}`, "batches")
			}
			o.refuseRequest(`{"product":"p"}`, "batches")
		})
		rule("500 batches are taken at once", func(t *testing.T, o *observed) {
			batches := make([]any, 500)
			for i := range batches {
				batches[i] = batch(o.trace(nil))
			}
			o.store(batches...)
			if got := o.summary(1).TotalTraces; got != 500 {
				t.Errorf("%d traces are stored", got)
			}
		})
		rule("Members nobody knows are ignored", func(t *testing.T, o *observed) {
			if answer := o.post(o.one(`"product":"p","schema":2,"x":{"orgId":1},`)); answer.Status != http.StatusOK ||
				o.summary(1).TotalTraces != 1 {
				t.Errorf("%d %s", answer.Status, answer.Body)
			}
		})
		rule("A member that is there twice is refused", func(t *testing.T, o *observed) {
			o.refuseRequest(o.one(`"product":"p","product":"q",`), "product")
			o.refuseRequest(o.one(`"product":"p","batches":[],`), "batches")
		})
		rule("The answer names accepted, rejected, duplicate and traceIds", func(t *testing.T, o *observed) {
			trace := o.trace(nil)
			answer := o.post(fmt.Sprintf(`{"product":"p","batches":[%s]}`, sent(t, batch(trace))[0]))
			want := fmt.Sprintf(`{"accepted":1,"rejected":0,"duplicate":0,"traceIds":[%q],"rejections":[]}`,
				trace["id"])
			if answer.Status != http.StatusOK || string(answer.Body) != want ||
				answer.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%d %s %s\nwant %s", answer.Status, answer.Header.Get("Content-Type"), answer.Body, want)
			}
		})
	})
}

// TestIngestCredentials is who may send (4.1 rule 1, 5, 7).
func TestIngestCredentials(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		send := func(o *observed, c *client.Client) error {
			_, err := c.Ingest(o.t.Context(), client.Spans{Product: "p", Batches: sent(o.t, batch(o.trace(nil)))})
			return err
		}
		rule("An API key bound to no organization is rejected", func(t *testing.T, o *observed) {
			unbound := o.Public.WithKey(o.KeyFor(o.owner.ID, "").Secret.Reveal())
			err := send(o, unbound)
			testserver.WantStatus(t, "ingest", err, http.StatusForbidden)
			if messageOf(err) != "this key belongs to no organization" {
				t.Errorf("it says %q", messageOf(err))
			}
			_, err = unbound.ReportUsage(t.Context(), client.UsageReport{
				Product: "p", SessionID: database.NewID(), Entries: []client.ModelUsage{},
			})
			testserver.WantStatus(t, "report usage", err, http.StatusForbidden)
		})
		rule("Without credentials it is 401", func(t *testing.T, o *observed) {
			testserver.WantStatus(t, "nobody", send(o, o.Public), http.StatusUnauthorized)
		})
		rule("A person's token is no API key", func(t *testing.T, o *observed) {
			testserver.WantStatus(t, "the owner", send(o, o.owner.Client), http.StatusUnauthorized)
		})
		rule("A revoked key is 401", func(t *testing.T, o *observed) {
			key := o.AgentKey(o.owner, o.org)
			if err := o.owner.RevokeKey(t.Context(), key.ID); err != nil {
				t.Fatal(err)
			}
			testserver.WantStatus(t, "a revoked key", send(o, o.Public.WithKey(key.APIKey)), http.StatusUnauthorized)
		})
		rule("A key without the scope ingest is 403", func(t *testing.T, o *observed) {
			key, err := o.owner.CreateKey(t.Context(), client.NewKey{
				Name: "audit", OrganizationID: o.org, Scopes: []string{"audit"},
			})
			if err != nil {
				t.Fatal(err)
			}
			testserver.WantStatus(t, "a key without ingest", send(o, o.Public.WithKey(key.APIKey)),
				http.StatusForbidden)
		})
		rule("The key may come as Authorization: Bearer", func(t *testing.T, o *observed) {
			answer := o.Request(t, "POST", "/observability/spans", o.one(`"product":"p",`), "Authorization",
				"Bearer "+o.agent.APIKey)
			if answer.Status != http.StatusOK {
				t.Errorf("%d %s", answer.Status, answer.Body)
			}
		})
	})
}

func gzipped(t *testing.T, body io.Reader) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.Copy(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

func zstandard(t *testing.T, body io.Reader) string {
	t.Helper()
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// zeros is a body of n bytes that packs well.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestIngestBodies is how a body may be packed, and how large it may be.
func TestIngestBodies(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A body may be packed with gzip, zstd or not", func(t *testing.T, o *observed) {
			for encoding, body := range map[string]string{
				"gzip":     gzipped(t, strings.NewReader(o.one(`"product":"p",`))),
				"GZIP":     gzipped(t, strings.NewReader(o.one(`"product":"p",`))),
				"zstd":     zstandard(t, strings.NewReader(o.one(`"product":"p",`))),
				"identity": o.one(`"product":"p",`),
			} {
				if answer := o.post(body, "Content-Encoding", encoding); answer.Status != http.StatusOK {
					t.Errorf("%s: %d %s", encoding, answer.Status, answer.Body)
				}
			}
			if got := o.summary(1).TotalTraces; got != 4 {
				t.Errorf("%d traces are stored, want 4", got)
			}
		})
		rule("Another encoding is 400", func(t *testing.T, o *observed) {
			for _, encoding := range []string{"br", "deflate", "gzip, gzip", "compress"} {
				o.post(o.one(`"product":"p",`), "Content-Encoding", encoding).ErrorFields(t, http.StatusBadRequest)
			}
		})
		rule("A body that is not what its encoding says is 400", func(t *testing.T, o *observed) {
			plain := o.one(`"product":"p",`)
			for name, answer := range map[string]testserver.Answer{
				"plain as gzip": o.post(plain, "Content-Encoding", "gzip"),
				"plain as zstd": o.post(plain, "Content-Encoding", "zstd"),
				"half a gzip":   o.post(gzipped(t, strings.NewReader(plain))[:60], "Content-Encoding", "gzip"),
				"half a zstd":   o.post(zstandard(t, strings.NewReader(plain))[:60], "Content-Encoding", "zstd"),
				"gzip as plain": o.post(gzipped(t, strings.NewReader(plain))),
			} {
				if answer.Status != http.StatusBadRequest {
					t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
				}
			}
		})
		rule("A small body that unpacks to 200 MB is 413", func(t *testing.T, o *observed) {
			for encoding, bomb := range map[string]string{
				"gzip": gzipped(t, zeros(200<<20)), "zstd": zstandard(t, zeros(200<<20)),
			} {
				if len(bomb) > 1<<20 {
					t.Fatalf("the %s bomb has %d bytes", encoding, len(bomb))
				}
				o.post(bomb, "Content-Encoding", encoding).ErrorFields(t, http.StatusRequestEntityTooLarge)
			}
		})
		rule("A body of 100 MB is refused before it is sent", func(t *testing.T, o *observed) {
			if answer := o.announce(100 << 20); !strings.HasPrefix(answer, "HTTP/1.1 413 ") {
				t.Errorf("the server answers %q", answer)
			}
		})
	})
}

// announce sends the head of a request with a body of n bytes, and nothing of
// the body, and gives the first line of the answer.
func (o *observed) announce(n int) string {
	o.t.Helper()
	conn, err := net.Dial("tcp", o.Address)
	if err != nil {
		o.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		o.t.Fatal(err)
	}
	fmt.Fprintf(conn,
		"POST /observability/spans HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", o.agent.APIKey, n)
	answer := make([]byte, 200)
	read, err := conn.Read(answer)
	if err != nil {
		o.t.Fatalf("the server waits for the body: %v", err)
	}
	line, _, _ := strings.Cut(string(answer[:read]), "\r\n")
	return line
}

// TestIngestLimitIsSettable sends bodies around WRIT_MAX_INGEST_BYTES.
func TestIngestLimitIsSettable(t *testing.T) {
	t.Parallel()
	const limit = 4096
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A body of exactly the limit is taken, one byte more is 413", func(t *testing.T, o *observed) {
			body := o.one(`"product":"p",`)
			body += strings.Repeat(" ", limit-len(body))
			for _, encoding := range []string{"identity", "gzip"} {
				pack := func(body string) string {
					if encoding == "gzip" {
						return gzipped(t, strings.NewReader(body))
					}
					return body
				}
				if answer := o.post(pack(body), "Content-Encoding", encoding); answer.Status != http.StatusOK {
					t.Errorf("%s of the limit: %d %s", encoding, answer.Status, answer.Body)
				}
				o.post(pack(body+" "), "Content-Encoding", encoding).ErrorFields(t, http.StatusRequestEntityTooLarge)
			}
		})
	}, "WRIT_MAX_INGEST_BYTES", fmt.Sprint(limit))
}
