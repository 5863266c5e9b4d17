package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// clockTick is the kernel's unit of CPU time in /proc: USER_HZ is 100 on every architecture.
	clockTick = 10 * time.Millisecond
	// shortestCheck bounds how often CPU time is looked at, and with the number of CPUs how late its end is seen.
	shortestCheck = 20 * time.Millisecond
)

// watchCPU kills the program that runs alone when all its processes together have used up their CPU
// time. The next look is never sooner than that could happen, so a limit far away costs nothing.
func (ph *phase) watchCPU() {
	limit := time.Duration(ph.request.CPUMillis) * time.Millisecond
	cpus := time.Duration(runtime.NumCPU())
	exceeded := false
	for {
		left := limit - ph.cpuTime()
		// A process that is reaped between two readings is counted twice, so one look alone decides nothing.
		if left <= 0 && exceeded {
			ph.cpuExceeded.Store(true)
			ph.procs.signal(syscall.SIGKILL)
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
	spent := ph.procs.used()
	total := time.Duration(spent.userMicros+spent.systemMicros) * time.Microsecond
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile(procPath(pid, "stat"))
		if err != nil {
			continue
		}
		session, ticks := parseStat(string(text))
		// Outside a container (unit tests) the other processes are not the program's.
		if os.Getpid() == 1 || session == ph.group {
			total += time.Duration(ticks) * clockTick
		}
	}
	return total
}

// parseStat reads a /proc/PID/stat: the session, and the ticks used by the process and the children
// it has waited for. The name in brackets may hold anything, brackets too.
func parseStat(text string) (session int, ticks int64) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return 0, 0
	}
	session, _ = strconv.Atoi(fields[3])
	for _, field := range fields[11:15] {
		used, _ := strconv.ParseInt(field, 10, 64)
		ticks += used
	}
	return session, ticks
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
