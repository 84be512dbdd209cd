package engine

// trie stores values by prefix and finds those whose prefix a text begins with.
// Each node holds a piece of text, so that a chain of single letters is one step.
type trie[V any] struct {
	piece    string
	values   []V
	children []*trie[V] // no two begin with the same byte
}

func (t *trie[V]) add(text string, value V) {
	if text == "" {
		t.values = append(t.values, value)
		return
	}
	for i, child := range t.children {
		if child.piece[0] != text[0] {
			continue
		}
		shared := sharedLength(child.piece, text)
		if shared < len(child.piece) {
			upper := &trie[V]{piece: child.piece[:shared], children: []*trie[V]{child}}
			child.piece = child.piece[shared:]
			t.children[i] = upper
			child = upper
		}
		child.add(text[shared:], value)
		return
	}
	t.children = append(t.children, &trie[V]{piece: text, values: []V{value}})
}

// walk visits all values whose prefix the text begins with.
func (t *trie[V]) walk(text string, visit func(V)) {
	for t != nil {
		for _, value := range t.values {
			visit(value)
		}
		t = t.next(text)
		if t != nil {
			text = text[len(t.piece):]
		}
	}
}

func (t *trie[V]) next(text string) *trie[V] {
	if text == "" {
		return nil
	}
	for _, child := range t.children {
		if child.piece[0] == text[0] {
			if len(child.piece) <= len(text) && text[:len(child.piece)] == child.piece {
				return child
			}
			return nil
		}
	}
	return nil
}

func sharedLength(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
