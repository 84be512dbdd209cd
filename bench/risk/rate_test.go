package main

import "testing"

func TestOutranked(t *testing.T) {
	t.Parallel()
	scored := func(scores ...int) (list []rated) {
		for _, score := range scores {
			list = append(list, rated{score: score})
		}
		return list
	}
	for name, c := range map[string]struct {
		attack, benign []rated
		want           float64
	}{
		"always":     {scored(5, 6), scored(1, 4, 2), 1},
		"never":      {scored(1), scored(2, 3), 0},
		"a coin":     {scored(3, 3), scored(3, 3, 3), 0.5},
		"in between": {scored(2, 9), scored(1, 2, 3, 4), (1.5 + 4) / 8},
		"nobody":     {nil, scored(1), 0},
	} {
		if got := outranked(c.attack, c.benign); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
