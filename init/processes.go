package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// usage adds up what every process of a phase used.
type usage struct {
	userMicros   int64
	systemMicros int64
	maxRssBytes  int64
}

func (u *usage) add(r *syscall.Rusage) {
	u.userMicros += r.Utime.Sec*1_000_000 + r.Utime.Usec
	u.systemMicros += r.Stime.Sec*1_000_000 + r.Stime.Usec
	u.maxRssBytes = max(u.maxRssBytes, r.Maxrss*1024)
}

func (u *usage) cpu() time.Duration {
	return time.Duration(u.userMicros+u.systemMicros) * time.Microsecond
}

// processes starts the phase's program and reaps every process that ends, orphans included.
type processes struct {
	// user is who programs run as; nil for the user of this process.
	user   *programUser
	mutex  sync.Mutex
	main   int
	exited chan syscall.WaitStatus
	spent  usage
	beside map[int]*child

	marker   marker
	lastMark int
	// stopped are the processes that stood still before PAUSE, with the time each began; nil while nothing is paused.
	stopped map[int]string
}

// watchChildren reaps until the process ends. Every signal is received and dropped: a handled signal
// neither ends process 1 nor is inherited by the program, whose dispositions exec sets to default.
func (p *processes) watchChildren() {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	go func() {
		for received := range signals {
			if received == syscall.SIGCHLD {
				p.reap()
			}
		}
	}()
}

// start runs a program in a session of its own. Everything but its three streams is close-on-exec.
func (p *processes) start(argv []string, attributes *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	pid, err := p.forkLocked(aloneMark, argv, attributes)
	if err != nil {
		return 0, nil, err
	}
	p.main, p.exited, p.spent = pid, make(chan syscall.WaitStatus, 1), usage{}
	return pid, p.exited, nil
}

func (p *processes) reap() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for {
		var status syscall.WaitStatus
		var used syscall.Rusage
		which, owner := -1, (*child)(nil)
		if len(p.beside) > 0 {
			if which = nextEnded(); which == 0 {
				return
			}
			owner = p.ownerLocked(which)
		}
		pid, err := syscall.Wait4(which, &status, syscall.WNOHANG, &used)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		p.spent.add(&used)
		if owner != nil {
			owner.spent.add(&used)
		}
		if c := p.beside[pid]; c != nil && c.running {
			c.running = false
			c.exited <- status
		}
		if pid == p.main {
			p.main = 0
			p.exited <- status
		}
	}
}

// signal goes to the process group of the program; SIGKILL goes to every process there is.
func (p *processes) signal(number syscall.Signal) {
	p.mutex.Lock()
	main := p.main
	p.mutex.Unlock()
	if number == syscall.SIGKILL {
		everyProcess(syscall.SIGKILL, main)
	} else if main > 0 {
		_ = syscall.Kill(-main, number)
	}
}

func (p *processes) used() usage {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.spent
}

// everyProcess signals all processes of the container. Outside a container (unit tests) this is
// not process 1 and only the program's own group may be hit.
func everyProcess(number syscall.Signal, group int) error {
	if os.Getpid() == 1 {
		return syscall.Kill(-1, number)
	}
	if group <= 0 {
		return syscall.ESRCH
	}
	return syscall.Kill(-group, number)
}
