package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// processStat is what is used of /proc/<pid>/stat. The ticks are those of the process and of the
// children it has waited for.
type processStat struct {
	state           byte
	parent, session int
	ticks           int64
	threads         int
}

// alive tells a process that can still do something: no zombie, or one whose other threads go on.
func (s processStat) alive() bool {
	return (s.state != 'Z' && s.state != 'X') || s.threads > 1
}

// parseStat is false for what is no such text. The name in brackets may hold anything, brackets too.
func parseStat(text string) (processStat, bool) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 18 {
		return processStat{}, false
	}
	s := processStat{state: fields[0][0]}
	s.parent, _ = strconv.Atoi(fields[1])
	s.session, _ = strconv.Atoi(fields[3])
	for _, field := range fields[11:15] {
		used, _ := strconv.ParseInt(field, 10, 64)
		s.ticks += used
	}
	s.threads, _ = strconv.Atoi(fields[17])
	return s, true
}

// statOf is false for a process that is gone.
func statOf(pid int) (processStat, bool) {
	text, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return processStat{}, false
	}
	return parseStat(string(text))
}

// everyStat reads all processes but this one.
func everyStat() map[int]processStat {
	all := map[int]processStat{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			if s, ok := statOf(pid); ok {
				all[pid] = s
			}
		}
	}
	return all
}

// familyIn are the members of the leader's session and all their descendants, zombies too.
func familyIn(all map[int]processStat, leader int) map[int]processStat {
	members := map[int]processStat{}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if _, known := members[pid]; known {
				continue
			}
			_, child := members[s.parent]
			if child || pid == leader || s.session == leader {
				members[pid], grown = s, true
			}
		}
	}
	return members
}

// family lists those of familyIn that are alive.
func family(leader int) []int {
	pids := []int{}
	for pid, s := range familyIn(everyStat(), leader) {
		if s.alive() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// familyTime is the CPU time of a phase that runs beside others: of its family, and of those of it
// that were reaped here.
func (p *processes) familyTime(leader int) time.Duration {
	members := familyIn(everyStat(), leader)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	c := p.beside[leader]
	if c == nil {
		return 0
	}
	c.members = map[int]bool{}
	total := c.spent.cpu()
	for pid, s := range members {
		c.members[pid] = true
		total += time.Duration(s.ticks) * clockTick
	}
	return total
}

// ownerLocked is the phase beside others that a process belonged to which ended and is not reaped
// yet: its leader, one of its session, or one that a look at its CPU time saw. Nil where it is nobody's.
func (p *processes) ownerLocked(pid int) *child {
	if c := p.beside[pid]; c != nil {
		return c
	}
	if s, ok := statOf(pid); ok && p.beside[s.session] != nil {
		return p.beside[s.session]
	}
	for _, c := range p.beside {
		if c.members[pid] {
			return c
		}
	}
	return nil
}

const (
	waitForAny     = 0          // P_ALL
	waitLeaving    = 0x01000000 // WNOWAIT: it can be asked about before it is reaped
	pidOfSiginfo   = 16
	bytesOfSiginfo = 128
)

// nextEnded is a child that has ended and is still there, or 0.
func nextEnded() int {
	for {
		var info [bytesOfSiginfo]byte
		_, _, errno := syscall.RawSyscall6(syscall.SYS_WAITID, waitForAny, 0, uintptr(unsafe.Pointer(&info)),
			syscall.WEXITED|syscall.WNOHANG|waitLeaving, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return 0
		}
		return int(*(*int32)(unsafe.Pointer(&info[pidOfSiginfo])))
	}
}
