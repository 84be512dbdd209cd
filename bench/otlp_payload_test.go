package main

import (
	"bytes"
	"testing"
	"time"
)

// TestOTLPPayloadsShareTheirTraces: the requests of one trace have the same id in
// every span, before and after it is replaced.
func TestOTLPPayloadsShareTheirTraces(t *testing.T) {
	payloads := newOTLPPayloads(newWorkload(), 3, spansPerTrace, 2, time.Now(), time.Millisecond)
	before := bytes.Clone(payloads[0].text)
	renewTogether(payloads)
	if bytes.Equal(before, payloads[0].text) {
		t.Error("ids are not new")
	}
	for n := range 3 {
		first := payloads[0].text[payloads[0].traces[n][0]:][:16]
		for _, p := range payloads {
			if len(p.traces[n]) != spansPerTrace/2 {
				t.Errorf("trace %d has %d spans in a request, want %d", n, len(p.traces[n]), spansPerTrace/2)
			}
			for _, at := range p.traces[n] {
				if !bytes.Equal(p.text[at:at+16], first) {
					t.Errorf("trace %d has two ids", n)
				}
			}
		}
	}
}
