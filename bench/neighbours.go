package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// shareOfOthers is the part of the machine, from 0 to 1, that neither we nor the
// servers used while work ran. It says how far the results can be trusted:
// a busy neighbour changes the throughput.
func shareOfOthers(servers []*process, work func() error) (float64, error) {
	busyBefore, oursBefore, err := processorTimes(servers)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := work(); err != nil {
		return 0, err
	}
	elapsed := time.Since(begin)
	busy, ours, err := processorTimes(servers)
	if err != nil {
		return 0, err
	}
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	others := (busy - busyBefore) - (ours - oursBefore)
	whole := elapsed * time.Duration(strings.Count(string(content), "\ncpu"))
	return max(0, float64(others)/float64(whole)), nil
}

// processorTimes are the time all processors were busy since the machine began,
// and how much of that was ours and the servers'.
func processorTimes(servers []*process) (busy, ours time.Duration, err error) {
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("read the processor time of the machine: %w", err)
	}
	if busy, err = busyTime(string(content)); err != nil {
		return 0, 0, err
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, 0, fmt.Errorf("read our own processor time: %w", err)
	}
	ours = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	for _, server := range servers {
		used, err := server.cpu()
		if err != nil {
			return 0, 0, err
		}
		ours += used
	}
	return busy, ours, nil
}

// clockTick is the unit of CPU time in /proc; Linux shows 100 a second to
// programs on every common architecture.
const clockTick = time.Second / 100

// busyTime reads the first line of proc_stat(5): "cpu", then user, nice, system,
// idle, iowait, irq, softirq, steal. Idle and iowait are not busy; stolen time
// is another machine's work on our processors.
func busyTime(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, errors.New("/proc/stat does not begin with the time of all processors")
	}
	var ticks int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		count, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time of the machine: %w", err)
		}
		ticks += count
	}
	return time.Duration(ticks) * clockTick, nil
}
