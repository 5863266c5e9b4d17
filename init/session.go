package main

import (
	"encoding/binary"
	"os"
	"syscall"
	"time"
)

// maxCommands bounds the phases that run beside each other.
const maxCommands = 64

type deleteRequest struct {
	Path string `json:"path"`
}

// child is the program of a phase that runs beside others.
type child struct {
	exited  chan syscall.WaitStatus
	running bool
	// spent is what the reaped processes of the phase used.
	spent usage
	// members are those that the last look at the CPU time saw.
	members map[int]bool
	mark    int
	// shared tells that another one ran meanwhile.
	shared bool
}

// startBeside is start for a phase of a session: others keep running.
func (p *processes) startBeside(argv []string, attributes *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	mark := p.nextMarkLocked()
	pid, err := p.forkLocked(mark, argv, attributes)
	if err != nil {
		return 0, nil, err
	}
	if p.beside == nil {
		p.beside = map[int]*child{}
	}
	c := &child{exited: make(chan syscall.WaitStatus, 1), running: true, mark: mark, shared: len(p.beside) > 0}
	for _, other := range p.beside {
		other.shared = true
	}
	p.beside[pid] = c
	return pid, c.exited, nil
}

// signalFamily signals all processes of a phase. ESRCH tells that none is left. When no other program of a session
// runs, everything in the container is of this one, also what changed its mark and left its session and its parents.
func (p *processes) signalFamily(leader int, number syscall.Signal) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if os.Getpid() == 1 && p.aloneLocked(leader) {
		return syscall.Kill(-1, number)
	}
	found := syscall.ESRCH
	for _, pid := range p.familyLocked(leader) {
		if syscall.Kill(pid, number) == nil {
			found = 0
		}
	}
	if found == 0 {
		return nil
	}
	return found
}

func (p *processes) aloneLocked(leader int) bool {
	for pid, c := range p.beside {
		if pid != leader && c.running {
			return false
		}
	}
	return true
}

// forget ends the bookkeeping of a phase and gives what its processes used.
func (p *processes) forget(leader int) usage {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	c := p.beside[leader]
	delete(p.beside, leader)
	if c == nil {
		return usage{}
	}
	return c.spent
}

// tag is what stands before the bytes of every data frame: the id, or nothing for a phase that
// runs alone.
func (ph *phase) tag() []byte {
	if ph.request.ID == 0 {
		return nil
	}
	return binary.BigEndian.AppendUint32(nil, ph.request.ID)
}

func (ph *phase) streamFrames() (stdout, stderr byte) {
	if ph.request.ID == 0 {
		return frameStdout, frameStderr
	}
	return frameTaggedStdout, frameTaggedStderr
}

func (ph *phase) acknowledge() error {
	if ph.request.ID == 0 {
		return ph.out.write(frameStdinAck, nil)
	}
	return ph.out.write(frameInputAck, ph.tag())
}

// signalRest signals what the phase left behind.
func (ph *phase) signalRest(number syscall.Signal) error {
	if ph.request.ID == 0 {
		return everyProcess(number, ph.group)
	}
	return ph.procs.signalFamily(ph.group, number)
}

// sweep kills until no process of the phase is left, so that nothing of it holds a pipe, writes a
// file or burns time after its end. It gives up after `limit`.
func (ph *phase) sweep(limit time.Duration) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ph.signalRest(syscall.SIGKILL) == syscall.ESRCH {
			return true
		}
		ph.procs.reap()
	}
	return false
}

func (ph *phase) used() usage {
	if ph.request.ID == 0 {
		return ph.procs.used()
	}
	return ph.procs.forget(ph.group)
}

// kill is the host's signal for one phase; SIGKILL goes to everything of it.
func (ph *phase) kill(number syscall.Signal) {
	if number == syscall.SIGKILL {
		_ = ph.signalRest(number)
	} else if ph.group > 0 {
		_ = syscall.Kill(-ph.group, number)
	}
}

// command finds a running phase by its id.
func (c *controller) command(id uint32) *phase {
	ph := c.commands[id]
	if ph == nil {
		return nil
	}
	select {
	case <-ph.over:
		delete(c.commands, id)
		return nil
	default:
		return ph
	}
}

func (c *controller) runBeside(request runRequest) error {
	for id := range c.commands {
		c.command(id)
	}
	if c.command(request.ID) != nil || len(c.commands) >= maxCommands {
		return c.refuse("BUSY", "the id is taken or too many phases are running")
	}
	started, err := startPhase(request, c.procs, c.out)
	if started != nil {
		c.commands[request.ID] = started
	}
	return err
}

// inputOf passes [id][bytes] on; nil bytes close.
func (c *controller) inputOf(payload []byte, end bool) error {
	if len(payload) < 4 {
		return c.refuse("BAD_REQUEST", "the id is missing")
	}
	id, data := binary.BigEndian.Uint32(payload), payload[4:]
	if end {
		data = nil
	}
	ph := c.command(id)
	if ph == nil {
		if end {
			return nil
		}
		return c.out.write(frameInputAck, payload[:4])
	}
	select {
	case ph.stdin <- data:
		return nil
	default:
		return c.refuse("BAD_REQUEST", "input window exceeded")
	}
}
