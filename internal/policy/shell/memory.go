package shell

// memory holds what lives as long as a scan. What was handed out stays where it is, until reset makes all of it free.
type memory[T any] struct{ used []T }

// maxKept bounds what is kept for the next scan.
const maxKept = 4_096

// room is an empty list with space for n.
func (m *memory[T]) room(n int) []T {
	if cap(m.used)-len(m.used) < n {
		m.used = make([]T, 0, max(n, 64, min(2*cap(m.used), maxKept)))
	}
	at := len(m.used)
	m.used = m.used[:at+n]
	return m.used[at : at : at+n]
}

// list is a list of one.
func (m *memory[T]) list(item T) []T { return append(m.room(1), item) }

// next is a new item.
func (m *memory[T]) next() *T { return &m.list(*new(T))[0] }

func (m *memory[T]) reset() {
	if cap(m.used) > maxKept {
		m.used = nil
	}
	m.used = m.used[:0]
}
