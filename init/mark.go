package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The program is to be the first victim when memory runs out, not process 1, so it is started with an oom_score_adj of
// its own. What it starts inherits that, whatever its session and its parents: each phase that runs beside others has
// another one, by which its processes are known. A program can only raise its own.
const (
	aloneMark = 500
	firstMark = 501
	marks     = 400
)

// marker gives this process another oom_score_adj while a program is started. Its file is opened while this process is
// still dumpable; afterwards it is root's.
type marker struct {
	fd    int
	usual string
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
	return marker{fd, strings.TrimSpace(string(usual))}
}

func (m marker) set(value string) bool {
	if m.fd < 0 {
		return false
	}
	_, err := syscall.Write(m.fd, []byte(value))
	return err == nil
}

// forkLocked starts a program that bears the mark.
func (p *processes) forkLocked(mark int, argv []string, attributes *syscall.ProcAttr) (int, error) {
	value := strconv.Itoa(mark)
	marked := p.marker.set(value)
	pid, err := syscall.ForkExec(argv[0], argv, attributes)
	if marked {
		p.marker.set(p.marker.usual)
	} else if err == nil {
		_ = os.WriteFile(procPath(pid, "oom_score_adj"), []byte(value), 0)
	}
	return pid, err
}

// nextMarkLocked is one that no phase has.
func (p *processes) nextMarkLocked() int {
	for {
		p.lastMark = (p.lastMark + 1) % marks
		mark, taken := firstMark+p.lastMark, false
		for _, c := range p.beside {
			taken = taken || c.mark == mark
		}
		if !taken {
			return mark
		}
	}
}

// markOfLocked is -1 where no phase beside others has that leader.
func (p *processes) markOfLocked(leader int) int {
	if c := p.beside[leader]; c != nil {
		return c.mark
	}
	return -1
}
