package scan

import "strings"

// foundIn reports orders in a text that had to be decoded.
func (s *scanner) foundIn(t *text, decoded string, h hit) {
	if !t.report(hiddenEncoding, 0) {
		return
	}
	s.add(newFinding(finding{
		rule:     hiddenEncoding,
		server:   s.server.Name,
		place:    s.place,
		text:     t.value,
		evidence: "decoded: " + excerpt(decoded, h.from, h.to),
	}, s.place.names()), s.owner)
}

// disguised runs the patterns over the words with their letters rotated by 13 or in reverse, and over the whole text
// backwards. Only orders count.
func (s *scanner) disguised(t *text, value string, decoded int) {
	if len(s.buffer) < 3 {
		return
	}
	for _, reading := range []int{rotated, mirrored, backwards} {
		if reading != backwards && !s.mayRead(reading) {
			if reading == mirrored {
				return // the same words
			}
			continue
		}
		m := s.readers[reading]
		m.reset(0)
		for i := range s.buffer {
			w := s.buffer[i]
			if reading == backwards {
				w = s.buffer[len(s.buffer)-1-i]
				w.gap, w.sentence = 1, false
			}
			w.text = strings.TrimPrefix(w.text, ".")
			m.feed(w, nil)
		}
		for _, h := range m.finish() {
			if h.pattern.rule != nil && h.affirmed() && h.pattern.severity != Low {
				from, to := min(h.from, h.to), max(h.from, h.to)
				s.foundIn(t, value, hit{from: from, to: to})
				return
			}
		}
	}
}

// minDisguised are the fewest words that an order has in another reading.
const minDisguised = 3

// mayRead reports whether enough words mean something in another reading.
func (s *scanner) mayRead(reading int) bool {
	root, known := s.words.roots[reading], 0
	for i := range s.buffer {
		s.work++
		text := s.buffer[i].text
		if len(text) > 3 && root.next[text] != nil {
			if known++; known >= minDisguised-1 {
				return true
			}
		}
	}
	return false
}

// isExample reports whether a text has words behind which an example stands.
func isExample(before string) bool {
	before = strings.ToLower(before)
	for _, words := range []string{"such as", "e.g.", "for example", "attempts to", "requests to", "tries to"} {
		if strings.Contains(before, words) {
			return true
		}
	}
	return false
}

// maxExampleWords is how far in front of an example such words stand, in bytes.
const maxExampleWords = 24

// orders reports whether the text that was read last tells anybody to do anything.
func (s *scanner) orders() bool {
	return s.readers[asWritten].reader.whole&(s.words.order|s.words.meanings["order"]) != 0
}
