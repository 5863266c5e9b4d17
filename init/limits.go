package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

const (
	// clockTick is the kernel's unit of CPU time in /proc: USER_HZ is 100 on every architecture.
	clockTick = 10 * time.Millisecond
	// shortestCheck bounds how often CPU time is looked at, and with the number of CPUs how late its end is seen.
	shortestCheck = 20 * time.Millisecond
)

// watchCPU kills all processes of the phase when they have used up their CPU time together. The next
// look is never sooner than that could happen, so a limit far away costs nothing.
func (ph *phase) watchCPU() {
	limit := time.Duration(ph.request.CPUMillis) * time.Millisecond
	cpus := time.Duration(runtime.NumCPU())
	exceeded := false
	for {
		left := limit - ph.cpuTime()
		// A process that is reaped between two readings is counted twice, so one look alone decides nothing.
		if left <= 0 && exceeded {
			ph.cpuExceeded.Store(true)
			ph.kill(syscall.SIGKILL)
			return
		}
		exceeded = left <= 0
		select {
		case <-ph.ended:
			return
		case <-time.After(max(left/cpus, shortestCheck)):
		}
	}
}

// cpuTime is what was used by the processes that were reaped and by those that live.
func (ph *phase) cpuTime() time.Duration {
	if ph.request.ID != 0 {
		return ph.procs.familyTime(ph.group)
	}
	spent := ph.procs.used()
	total := spent.cpu()
	for _, s := range everyStat() {
		// Outside a container (unit tests) the other processes are not the program's.
		if os.Getpid() == 1 || s.session == ph.group {
			total += time.Duration(s.ticks) * clockTick
		}
	}
	return total
}

// writable are the places a program can fill.
var writable = []string{workspacePath, "/tmp", "/dev/shm"}

// diskFull tells whether one of the places has no byte or no file left.
func diskFull(places []string) bool {
	for _, place := range places {
		var stat syscall.Statfs_t
		if syscall.Statfs(place, &stat) != nil {
			continue
		}
		if (stat.Blocks > 0 && stat.Bavail == 0) || (stat.Files > 0 && stat.Ffree == 0) {
			return true
		}
	}
	return false
}
