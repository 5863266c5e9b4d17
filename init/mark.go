package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The program is to be the first victim when memory runs out, not process 1, so it is started with an oom_score_adj of
// its own. What it starts inherits that, whatever its session and its parents: each phase that runs beside others has
// another one, by which its processes are known. A program can only raise its own, and so can this process: what an
// orchestrator gave the container is below all marks, and where that leaves too few there are none.
const (
	aloneMark   = 500
	highestMark = 900
	// noMark is none that a process can have.
	noMark = -2000
)

// marker gives this process another oom_score_adj while a program is started. Its file is opened while this process is
// still dumpable; afterwards it is root's.
type marker struct {
	fd    int
	usual int
}

func openMarker() marker {
	usual, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return marker{fd: -1}
	}
	fd, err := syscall.Open("/proc/self/oom_score_adj", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	number, _ := strconv.Atoi(strings.TrimSpace(string(usual)))
	return marker{fd, number}
}

func (m marker) set(value int) bool {
	if m.fd < 0 {
		return false
	}
	_, err := syscall.Write(m.fd, []byte(strconv.Itoa(value)))
	return err == nil
}

// marks are the first and the number of those that phases beside others get.
func (m marker) marks() (first, count int) {
	first = max(aloneMark, m.usual) + 1
	if count = highestMark - first + 1; count <= maxCommands {
		return noMark, 0
	}
	return first, count
}

// forkLocked starts a program that bears the mark.
func (p *processes) forkLocked(mark int, argv []string, attributes *syscall.ProcAttr) (int, error) {
	marked := mark != noMark && p.marker.set(mark)
	pid, err := syscall.ForkExec(argv[0], argv, attributes)
	if marked {
		p.marker.set(p.marker.usual)
	} else if err == nil && mark != noMark {
		_ = os.WriteFile(procPath(pid, "oom_score_adj"), []byte(strconv.Itoa(mark)), 0)
	}
	return pid, err
}

// nextMarkLocked is one that no phase has.
func (p *processes) nextMarkLocked() int {
	first, count := p.marker.marks()
	if count == 0 {
		return noMark
	}
	for {
		p.lastMark = (p.lastMark + 1) % count
		mark, taken := first+p.lastMark, false
		for _, c := range p.beside {
			taken = taken || c.mark == mark
		}
		if !taken {
			return mark
		}
	}
}

// markOfLocked is noMark where no phase beside others has that leader.
func (p *processes) markOfLocked(leader int) int {
	if c := p.beside[leader]; c != nil {
		return c.mark
	}
	return noMark
}
