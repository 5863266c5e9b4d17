package main

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// pauseLimit is how long PAUSE waits for every process to stand still.
const pauseLimit = 500 * time.Millisecond

// pause stops every process of the session's phases and waits until they stand still. What stands already, because a
// program stopped it, is not touched, so that RESUME leaves it as it is.
func (p *processes) pause() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.frozen == nil {
		p.frozen = map[int]string{}
	}
	for deadline := time.Now().Add(pauseLimit); p.freezeLocked() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// freezeLocked is true where something still moved.
func (p *processes) freezeLocked() bool {
	moving := false
	for pid, s := range p.everyoneLocked() {
		if stands := strings.IndexByte("TtZX", s.state) >= 0; stands && (s.state != 'Z' || p.frozen[pid] == s.began) {
			continue
		} else if syscall.Kill(pid, syscall.SIGSTOP) == nil {
			p.frozen[pid] = s.began
			// Of a process whose main thread has ended nothing tells whether the others stand.
			moving = moving || !stands
		}
	}
	return moving
}

// resume lets go on what pause stopped.
func (p *processes) resume() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for pid, began := range p.frozen {
		if s, ok := statOf(pid); ok && s.began == began {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	p.frozen = nil
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
