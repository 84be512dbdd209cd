package main

import (
	"slices"
	"time"
)

type number interface{ ~int64 | ~float64 }

// median is the middle value, or the mean of the two in the middle.
func median[T number](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// percentile is the smallest of sorted values that p percent do not exceed.
func percentile(sorted []time.Duration, percent int) time.Duration {
	rank := (len(sorted)*percent + 99) / 100
	return sorted[max(rank, 1)-1]
}
