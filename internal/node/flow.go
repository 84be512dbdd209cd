package node

// flow reads a list or map in brackets, or a value in one. Indentation means nothing
// there.
func (r *yamlReader) flow(depth int) *Node {
	if depth > MaxDepth {
		r.fail(r.pos, "%s", tooDeep)
	}
	n := &Node{At: r.at()}
	switch r.src[r.pos] {
	case '[':
		n.Kind = List
		r.each(']', func() { n.Items = append(n.Items, r.flow(depth+1)) })
	case '{':
		n.Kind = Map
		seen := map[string]bool{}
		r.each('}', func() { r.member(n, seen, r.flowMember(depth)) })
	case '"', '\'':
		n.Kind, n.Text = String, r.quoted(-1)
	default:
		return r.resolve(n, r.plainLine(true))
	}
	return n
}

// each reads values separated by commas up to the closing bracket.
func (r *yamlReader) each(closing byte, read func()) {
	open := r.pos
	r.pos++
	for {
		r.layout(open, closing)
		if r.src[r.pos] == closing {
			break
		}
		read()
		r.layout(open, closing)
		switch r.src[r.pos] {
		case ',':
			r.pos++
			continue
		case closing:
			continue
		case ':':
			r.fail(r.pos, "must stand within { }: this is a key with a value")
		}
		r.fail(r.pos, "must be a comma or %q", closing)
	}
	r.pos++
}

func (r *yamlReader) flowMember(depth int) Member {
	m := Member{At: r.at()}
	m.Key = r.key(true)
	if r.src[r.pos] != ':' {
		r.fail(r.pos, "must be a colon and a value, after the key %q", Shown(m.Key))
	}
	r.pos++
	r.layout(r.pos, '}')
	if c := r.src[r.pos]; c == ',' || c == '}' {
		m.Value = &Node{At: r.at()}
		return m
	}
	m.Value = r.flow(depth + 1)
	return m
}

// layout skips spaces, line breaks and comments within brackets.
func (r *yamlReader) layout(open int, closing byte) {
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; {
		case c == ' ' || c == '\n':
			r.pos++
		case c == '#' && (r.src[r.pos-1] == ' ' || r.src[r.pos-1] == '\n'):
			r.toLineEnd()
		default:
			return
		}
	}
	r.fail(open, "must end with %q", closing)
}
