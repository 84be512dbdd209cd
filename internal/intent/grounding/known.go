package grounding

import (
	"slices"
	"strings"
)

// Output is what a tool returned, read once.
type Output struct {
	tool    string
	class   Class
	asked   []argument // of the call that it answers
	unknown bool
	size    int

	leaves  []leaf
	records []record
	fields  map[string]int32 // folded text -> index of the first leaf
	text    *sieve           // of the running text
	running []int32          // the leaves that are running text
}

// record is the nearest object of leaves.
type record struct {
	long bool // a leaf has twelve words or more
}

// NewOutput reads the output of a call.
func NewOutput(call Call, output string) *Output {
	o := &Output{tool: call.Tool, class: call.Class, asked: call.leaves(), size: len(output)}
	if len(output) > MaxBytes {
		o.unknown = true
		return o
	}
	leaves, records := leavesOf(output)
	o.leaves, o.records = leaves, make([]record, records)
	o.fields = make(map[string]int32, len(leaves))
	size := 0
	for i := len(leaves) - 1; i >= 0; i-- {
		l := &leaves[i]
		key := strings.TrimRight(l.folded, "/")
		l.next = none
		if next, ok := o.fields[key]; ok {
			l.next = next
		}
		o.fields[key] = int32(i)
		if l.long {
			o.records[l.record].long = true
		}
		if l.running {
			size += len(l.folded)
		}
	}
	o.addRunning(size)
	return o
}

// addRunning finds the running text, which has this size.
func (o *Output) addRunning(size int) {
	o.text = newSieve(size)
	for i := range o.leaves {
		if l := &o.leaves[i]; l.running {
			o.running = append(o.running, int32(i))
			o.text.addText(l.folded)
		}
	}
}

// equal are the indexes of the leaves that equal a folded value.
func (o *Output) equal(folded string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		i, ok := o.fields[folded]
		for ; ok && i != none; i = o.leaves[i].next {
			if !yield(int(i)) {
				return
			}
		}
	}
}

// holding are the indexes of the running leaves that may hold a value.
func (o *Output) holding(v value) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if o.text == nil || !o.text.mayHold(v) {
			return
		}
		for _, i := range o.running {
			if !yield(int(i)) {
				return
			}
		}
	}
}

// Memory is about how many bytes of memory the output takes.
func (o *Output) Memory() int {
	const itself, leaf = 512, 80
	return itself + 3*o.size + leaf*len(o.leaves)
}

// Speaks reports whether the output has running text, whoever's it is.
func (o *Output) Speaks() bool { return o.unknown || len(o.running) > 0 }

// Speaks reports whether a text, as an output, has running text. A stretch of words without any mark is
// within one leaf, whatever the structure is, so that most texts need not be read.
func Speaks(text string) bool {
	for stretch := range strings.FieldsFuncSeq(text, isMark) {
		if countWords(stretch, runningWords) >= runningWords {
			return true
		}
	}
	return NewOutput(Call{}, text).Speaks()
}

// isMark reports whether a character may separate leaves.
func isMark(r rune) bool { return strings.ContainsRune("{}[]:,\"'#|>&*!?\\\n\r", r) }

// UnknownOutput is the output of a call that was allowed and whose report is missing, cut or too large. What the call
// asked with does not matter: nothing can come from it.
func UnknownOutput() *Output { return &Output{unknown: true} }

// Known is what is known of a session. It is immutable.
type Known struct {
	user    words
	outputs []*Output
	unknown bool // an output is unknown: its text may mention anything
	dropped bool // older outputs are gone
	clean   bool
}

// NewKnown puts together what is known: the user's words, and the outputs in the order of their calls. dropped says
// that there were older ones.
func NewKnown(prompts []string, outputs []*Output, dropped bool) *Known {
	kept, cut := trim(outputs)
	k := &Known{user: foldAll(prompts), outputs: kept, dropped: dropped || cut}
	k.unknown = slices.ContainsFunc(kept, func(o *Output) bool { return o.unknown })
	k.clean = !k.dropped && !k.unknown && !slices.ContainsFunc(kept, func(o *Output) bool { return o.speaks(k.user) })
	return k
}

// Add is what is known once more calls were made. dropped says that older ones are gone.
func (k *Known) Add(more []*Output, dropped bool) *Known {
	kept, cut := trim(slices.Concat(k.outputs, more))
	sum := &Known{user: k.user, outputs: kept, dropped: k.dropped || dropped || cut}
	sum.unknown = slices.ContainsFunc(kept, func(o *Output) bool { return o.unknown })
	sum.clean = k.clean && !sum.dropped && !sum.unknown &&
		!slices.ContainsFunc(more, func(o *Output) bool { return o.speaks(k.user) })
	return sum
}

// Outputs is how many outputs are known: the newest.
func (k *Known) Outputs() int { return len(k.outputs) }

// Dropped reports whether older outputs are gone, so that no output grounds a value any more.
func (k *Known) Dropped() bool { return k.dropped }

// Clean reports whether only the user can have spoken: every output is known, and none has running text that is not
// the user's.
func (k *Known) Clean() bool { return k.clean }

// Plan is what a plan says about the call that is judged.
type Plan struct {
	Declared bool // there is a plan; without one no call is outside of it
	Planned  bool // a step or a tool that may be needed has the call's tool
	// Given are the values that the plan gives, of any step, and Goal its words. They count only if the plan
	// was declared before any running text.
	Given []string
	// Fixed are the arguments for which every step with the call's tool gives a value of the user's.
	Fixed []string
	// Used reports whether an earlier call of the plan used an identity; nil: none did.
	Used func(folded string) bool
}

// trim drops the oldest outputs beyond the limits, and reports whether it dropped any.
func trim(outputs []*Output) ([]*Output, bool) {
	size := 0
	for i, o := range slices.Backward(outputs) {
		size += o.size
		if len(outputs)-i > MaxOutputs || size > MaxBytes {
			return outputs[i+1:], true
		}
	}
	return outputs, false
}

// words are the user's words, ready to be compared.
type words []string

func foldAll(texts []string) words {
	list := make(words, 0, len(texts))
	for _, text := range texts {
		list = append(list, fold(text))
	}
	return list
}

// hold reports whether the user said a folded value.
func (w words) hold(value string) bool {
	return slices.ContainsFunc(w, func(text string) bool { return holds(text, value) })
}

// blind reports whether text is missing that may mention any value, so that outputs ground nothing.
func (k *Known) blind() bool { return k.dropped || k.unknown }

// Says reports whether the user said a value.
func (k *Known) Says(value string) bool { return k.user.hold(identity(value)) }

// speaks reports whether an output has running text that is not the user's.
func (o *Output) speaks(user words) bool {
	return slices.ContainsFunc(o.running, func(i int32) bool { return !user.hold(o.leaves[i].folded) })
}
