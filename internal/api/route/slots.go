package route

import "sync"

// Slots bounds how many of something may be open at a time in this process: for each holder, such as a person and an
// organization, and in total. The zero value has no slot.
type Slots struct {
	Each  []int // for the first holder that Take names, the second, and so on
	Total int

	mu   sync.Mutex // guards the rest
	held map[holder]int
	used int
}

type holder struct {
	kind int // index in Each
	id   string
}

// Take takes a slot until release is called, if there is one for every holder. The holders correspond to Each.
func (s *Slots) Take(holders ...string) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= s.Total {
		return func() {}, false
	}
	for kind, id := range holders {
		if s.held[holder{kind, id}] >= s.Each[kind] {
			return func() {}, false
		}
	}
	if s.held == nil {
		s.held = map[holder]int{}
	}
	s.count(holders, 1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(holders, -1)
	}, true
}

func (s *Slots) count(holders []string, by int) {
	s.used += by
	for kind, id := range holders {
		h := holder{kind, id}
		if s.held[h] += by; s.held[h] == 0 {
			delete(s.held, h)
		}
	}
}

// Used is how many slots are taken.
func (s *Slots) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
