package main

import (
	"os"
	"strconv"
	"strings"
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

// wasBeside tells that another phase ran while this one did: what the kernel killed may be a neighbour's.
func (ph *phase) wasBeside() bool {
	ph.procs.mutex.Lock()
	defer ph.procs.mutex.Unlock()
	c := ph.procs.beside[ph.group]
	return c != nil && c.shared
}
