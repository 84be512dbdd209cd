package node

import "strings"

// blockText reads a block of text after | or >, which belongs to something that
// began in column outer.
func (r *yamlReader) blockText(outer int) *Node {
	n := &Node{Kind: String, At: r.at()}
	literal := r.src[r.pos] == '|'
	r.pos++
	chomp := r.src[r.pos]
	if chomp == '+' || chomp == '-' {
		r.pos++
	}
	header := r.pos
	if r.spaces(); !r.isLineEnd() {
		r.fail(header, "must be | or > alone, perhaps with + or -; text that begins so must be in quotes")
	}
	r.toLineEnd()
	lines, indent, first := r.blockLines(max(outer, 0))
	if indent > 0 {
		n.At = r.lines.at(first)
		if literal {
			n.Indent = indent
		}
	}
	var text string
	if literal {
		text = strings.Join(lines, "\n")
	} else {
		text = foldLines(lines)
	}
	n.Text = chomped(text, lines, chomp)
	return n
}

// blockLines reads the lines of a block without their indentation, which is more
// than outer. It ends at the beginning of the line after them. First is the offset
// of the text.
func (r *yamlReader) blockLines(outer int) (lines []string, indent, first int) {
	blank := 0 // the indentation of empty lines before the text
	for r.pos < len(r.src) {
		end := r.pos + strings.IndexByte(r.src[r.pos:], '\n')
		line := r.src[r.pos:end]
		in := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case in == len(line) && (indent == 0 || in <= indent):
			blank = max(blank, in)
			line = ""
		case indent == 0 && in > outer:
			if blank > in {
				r.fail(r.pos, "must be indented like the empty lines above it, or they must have no spaces")
			}
			indent, first = in, r.pos+in
			line = line[indent:]
		case indent == 0 || in < indent:
			return lines, indent, first
		default:
			line = line[indent:]
		}
		lines = append(lines, line)
		r.pos = end + 1
	}
	return lines, indent, first
}

// foldLines joins lines as > does: with a space, except around empty lines and
// lines that are indented further.
func foldLines(lines []string) string {
	var b strings.Builder
	apart, empty := true, 0 // the first line is not joined to anything
	some := false
	for _, line := range lines {
		if line == "" {
			empty++
			continue
		}
		further := line[0] == ' '
		switch {
		case !some:
			b.WriteString(strings.Repeat("\n", empty))
		case apart || further:
			b.WriteString(strings.Repeat("\n", empty+1))
		default:
			b.WriteString(folded(empty + 1))
		}
		b.WriteString(line)
		apart, empty, some = further, 0, true
	}
	return b.String()
}

// chomped ends the text of a block with one line break, with none after -, and with
// all of them after +.
func chomped(text string, lines []string, chomp byte) string {
	text = strings.TrimRight(text, "\n")
	empty := 0
	for i := len(lines) - 1; i >= 0 && lines[i] == ""; i-- {
		empty++
	}
	switch {
	case chomp == '+' && text == "":
		return strings.Repeat("\n", empty)
	case chomp == '+':
		return text + strings.Repeat("\n", empty+1)
	case chomp == '-' || text == "":
		return text
	default:
		return text + "\n"
	}
}
