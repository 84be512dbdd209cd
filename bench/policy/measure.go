package main

import (
	"runtime"
	"slices"
	"syscall"
	"time"
)

// perDecision is the processor time that one decision takes, measured over about
// the given number of seconds of it.
func perDecision(decide func() bool, seconds float64) time.Duration {
	decide()     // what is made on first use is made
	runtime.GC() // and what others left behind is gone
	budget := time.Duration(seconds * float64(time.Second))
	for n := 1; ; n *= 4 {
		begin := processorTime()
		for range n {
			decide()
		}
		if took := processorTime() - begin; took >= budget {
			return took / time.Duration(n)
		}
	}
}

// processorTime is what this process has used so far, on all processors.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it has no way to fail
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
