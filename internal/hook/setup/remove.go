package setup

import (
	"errors"
	"fmt"
	"strings"
)

// ErrMixed says that our hooks cannot be told from others.
var ErrMixed = errors.New("a group of hooks has ours and others: take ours (named " + Name + "-…) out by hand")

// Remove takes our hooks out of the text of settings. Where what was inserted still stands there as it was, the text
// becomes what it was before, with whatever others have changed since. Otherwise, as after the host or an
// editor wrote the file anew, our hooks are found by their name and command.
func Remove(text string, inserted []string) (string, error) {
	if back, ok := cutOut(text, inserted); ok {
		return back, nil
	}
	return strip(text)
}

func cutOut(text string, inserted []string) (string, bool) {
	_, broken := parse(text)
	for _, part := range inserted {
		if part == "" || strings.Count(text, part) != 1 {
			return "", false
		}
		text = strings.Replace(text, part, "", 1)
	}
	if len(inserted) == 0 {
		return "", false
	}
	_, err := parse(text) // somebody may have put something behind what was inserted
	return text, err == nil || broken != nil
}

// strip removes our groups of hooks, and the lists and the object that have nothing else.
func strip(text string) (string, error) {
	for {
		_, hooks, err := hooksOf(text)
		if err != nil {
			return "", fmt.Errorf("the settings are not JSON that the host reads: %w", err)
		}
		if hooks == nil {
			return text, nil
		}
		cut, err := nextCut(text, hooks)
		if err != nil || cut == nil {
			return text, err
		}
		text = text[:cut[0]] + text[cut[1]:]
		if text, err = dropEmpty(text); err != nil {
			return "", err
		}
	}
}

// nextCut is where the next group of ours stands; nil: there is none.
func nextCut(text string, hooks *node) (cut []int, err error) {
	for _, event := range hooks.items {
		for i, element := range event.value.items {
			ours, err := isOurs(text[element.value.begin:element.value.end])
			if err != nil {
				return nil, err
			}
			if ours {
				return spanOf(&event.value, i), nil
			}
		}
	}
	return nil, nil
}

// isOurs reports whether a group of hooks is one that writ init has written, now or in an earlier version.
func isOurs(text string) (bool, error) {
	var g Group
	if Decode(text, &g) != nil || len(g.Hooks) == 0 {
		return false, nil // not of our form
	}
	ours := 0
	for _, hook := range g.Hooks {
		if hook.IsOurs() {
			ours++
		}
	}
	if ours > 0 && ours < len(g.Hooks) {
		return false, ErrMixed
	}
	return ours > 0, nil
}

// spanOf is what to cut for an item to be gone, with one comma.
func spanOf(list *node, i int) []int {
	switch {
	case i+1 < len(list.items):
		return []int{list.items[i].begin, list.items[i+1].begin}
	case i > 0:
		return []int{list.items[i-1].value.end, list.items[i].value.end}
	}
	return []int{list.begin + 1, list.end - 1}
}

// dropEmpty removes the lists of our events that are empty, and then hooks.
func dropEmpty(text string) (string, error) {
	top, hooks, err := hooksOf(text)
	if err != nil || hooks == nil {
		return text, err
	}
	for i, event := range hooks.items {
		if isEvent(event.name) && event.value.kind == '[' && len(event.value.items) == 0 {
			span := spanOf(hooks, i)
			return dropEmpty(text[:span[0]] + text[span[1]:])
		}
	}
	if len(hooks.items) > 0 {
		return text, nil
	}
	for i, it := range top.items {
		if it.name == "hooks" {
			span := spanOf(&top, i)
			return text[:span[0]] + text[span[1]:], nil
		}
	}
	return text, nil
}
