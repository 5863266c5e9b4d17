package main

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// pauseLimit is how long PAUSE waits for every process to stand still.
const pauseLimit = 500 * time.Millisecond

// pause stops every process of the session's phases and waits until they stand still. It remembers which of them a
// program had stopped before, so that resume leaves those as they are.
func (p *processes) pause() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stopped == nil {
		p.stopped = map[int]string{}
		for pid, s := range p.everyoneLocked() {
			if s.state == 'T' {
				p.stopped[pid] = s.began
			}
		}
	}
	for deadline := time.Now().Add(pauseLimit); p.stopLocked() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// stopLocked is true where something still moved. To all at once, because what forks would outrun a walk.
func (p *processes) stopLocked() bool {
	moved := false
	if os.Getpid() == 1 {
		_ = syscall.Kill(-1, syscall.SIGSTOP)
	}
	for pid, s := range p.everyoneLocked() {
		// Of a process whose main thread has ended nothing tells whether the others stand.
		if strings.IndexByte("TtZX", s.state) < 0 {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			moved = true
		}
	}
	return moved
}

// resume lets go on what pause stopped.
func (p *processes) resume() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stopped == nil {
		return
	}
	for pid, s := range p.everyoneLocked() {
		if p.stopped[pid] != s.began {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	p.stopped = nil
}

// everyoneLocked are the living processes of the container; outside one (unit tests) those of the phases.
func (p *processes) everyoneLocked() map[int]processStat {
	all := everyStat()
	members := map[int]processStat{}
	if os.Getpid() == 1 {
		members = all
	}
	for leader, c := range p.beside {
		for pid, s := range familyIn(all, leader, c.mark) {
			members[pid] = s
		}
	}
	for pid, s := range members {
		if !s.alive() {
			delete(members, pid)
		}
	}
	return members
}
