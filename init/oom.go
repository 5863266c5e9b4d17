package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The kernel's own count of out-of-memory kills in this container: cgroup v2, then v1.
var oomFiles = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}

// oomKills is 0 where neither file can be read; the engine's flag is then the only witness.
func oomKills() int64 {
	for _, file := range oomFiles {
		if text, err := os.ReadFile(file); err == nil {
			return parseOomKills(string(text))
		}
	}
	return 0
}

func parseOomKills(text string) int64 {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); found {
			count, _ := strconv.ParseInt(value, 10, 64)
			return count
		}
	}
	return 0
}

// mayBeOutOfMemory is false for a phase that ran beside others and of which nothing ended by SIGKILL: what the kernel
// killed was a neighbour's. A shell tells of its child's end by 128 and the signal.
func (ph *phase) mayBeOutOfMemory(status syscall.WaitStatus) bool {
	if ph.request.ID == 0 || status.ExitStatus() == 128+int(syscall.SIGKILL) {
		return true
	}
	ph.procs.mutex.Lock()
	defer ph.procs.mutex.Unlock()
	c := ph.procs.beside[ph.group]
	return c == nil || !c.shared || c.killed
}
