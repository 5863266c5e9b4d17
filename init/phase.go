package main

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type runRequest struct {
	// ID other than 0 runs the phase beside others; its frames carry the id.
	ID    uint32   `json:"id"`
	Phase string   `json:"phase"`
	Argv  []string `json:"argv"`
	Env   []string `json:"env"`
	Cwd   string   `json:"cwd"`
	// DrainMs is how long output of processes that outlive the program is waited for.
	DrainMs int `json:"drain_ms"`
	// CPUMillis ends a phase when its processes have used so much CPU time; 0 is no limit.
	CPUMillis int64 `json:"cpu_ms"`
}

type killRequest struct {
	// ID of the phase that is meant; 0 is the one that runs alone.
	ID     uint32 `json:"id"`
	Signal int    `json:"signal"`
}

type exitReport struct {
	ID    uint32 `json:"id,omitempty"`
	Phase string `json:"phase"`
	// Code is set when the program exited by itself, Signal when a signal ended it.
	Code   *int `json:"code,omitempty"`
	Signal *int `json:"signal,omitempty"`
	// Error is set when the program could not be started at all.
	Error        string `json:"error,omitempty"`
	UserMicros   int64  `json:"user_us"`
	SystemMicros int64  `json:"system_us"`
	MaxRssBytes  int64  `json:"max_rss_bytes"`
	WallMicros   int64  `json:"wall_us"`
	// OomKills counts what the kernel killed in this container for memory during the phase, whoever's it was.
	OomKills int64 `json:"oom_kills"`
	// Beside tells that another phase ran meanwhile.
	Beside bool `json:"beside,omitempty"`
	// Stray tells that processes were still there after the program and the drain time.
	Stray bool `json:"stray"`
	// CPUExceeded tells that it was killed because its CPU time was used up.
	CPUExceeded bool `json:"cpu_exceeded,omitempty"`
	// DiskFull tells that a place it can write to had no room left when it ended.
	DiskFull bool `json:"disk_full,omitempty"`
}

const (
	sweepLimit = 5 * time.Second
	// mostInPipe is what a program may enlarge a pipe to (fs.pipe-max-size).
	mostInPipe = 1 << 20
)

type phase struct {
	request runRequest
	procs   *processes
	out     *frameWriter
	stdin   chan []byte // nil payload closes
	over    chan struct{}
	group   int
	ended   chan struct{}

	cpuExceeded atomic.Bool

	output [2]*os.File
	pumps  sync.WaitGroup
}

// startPhase returns nil after it has reported why the program could not be started.
func startPhase(request runRequest, procs *processes, out *frameWriter) (*phase, error) {
	ph := &phase{request: request, procs: procs, out: out, stdin: make(chan []byte, stdinWindow+1),
		over: make(chan struct{}), ended: make(chan struct{})}
	oomBefore := oomKills()
	began := time.Now()
	start := procs.start
	if request.ID != 0 {
		start = procs.startBeside
	}
	begin := ph.launch
	if procs.user != nil {
		begin = ph.launchAs
	}
	group, exited, ours, err := begin(start)
	if err != nil {
		return nil, ph.failed(err)
	}
	if err := out.report(frameStarted, startedReport{ID: request.ID, Phase: request.Phase}); err != nil {
		return nil, err
	}
	ph.group = group
	ph.output = [2]*os.File{ours[1], ours[2]}
	ph.pumps.Add(2)
	stdout, stderr := ph.streamFrames()
	go ph.pump(ours[1], stdout)
	go ph.pump(ours[2], stderr)
	go ph.feed(ours[0])
	go ph.finish(exited, began, oomBefore)
	if request.CPUMillis > 0 {
		go ph.watchCPU()
	}
	return ph, nil
}

// launcher starts a process and gives its id and its end.
type launcher func([]string, *syscall.ProcAttr) (int, <-chan syscall.WaitStatus, error)

// launch starts the program as the user of this process and gives its streams' other ends.
func (ph *phase) launch(start launcher) (int, <-chan syscall.WaitStatus, [3]*os.File, error) {
	theirs, ours, err := pipes()
	if err != nil {
		return 0, nil, ours, err
	}
	pid, exited, err := start(ph.request.Argv, &syscall.ProcAttr{
		Dir:   ph.request.Cwd,
		Env:   ph.request.Env,
		Files: []uintptr{uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	for _, fd := range theirs {
		syscall.Close(fd)
	}
	if err != nil {
		for _, file := range ours {
			file.Close()
		}
	}
	return pid, exited, ours, err
}

func (ph *phase) failed(err error) error {
	return ph.out.report(frameExit, exitReport{ID: ph.request.ID, Phase: ph.request.Phase, Error: err.Error()})
}

func (ph *phase) pump(from *os.File, kind byte) {
	defer ph.pumps.Done()
	buffer := make([]byte, dataChunk)
	tag := copy(buffer, ph.tag())
	for {
		n, err := from.Read(buffer[tag:])
		if n > 0 && ph.out.write(kind, buffer[:tag+n]) != nil {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			ph.pumpRest(from, kind, buffer, tag)
		}
		if err != nil {
			return
		}
	}
}

// pumpRest takes what the pipe holds, not what may still come.
func (ph *phase) pumpRest(from *os.File, kind byte, buffer []byte, tag int) {
	connection, err := from.SyscallConn()
	if err != nil || from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for left := mostInPipe; left > 0; {
		n := 0
		_ = connection.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), buffer[tag:])
			return true
		})
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 || ph.out.write(kind, buffer[:tag+n]) != nil {
			return
		}
		left -= n
	}
}

// feed passes input on. A program that closed its input or never reads it costs nothing but the
// window: what it does not take is dropped when it ends.
func (ph *phase) feed(to *os.File) {
	defer to.Close()
	broken := false
	for {
		select {
		case payload := <-ph.stdin:
			if payload == nil {
				to.Close()
				broken = true
				continue
			}
			if !broken {
				_, err := to.Write(payload)
				broken = err != nil
			}
			if ph.acknowledge() != nil {
				return
			}
		case <-ph.over:
			return
		}
	}
}

func (ph *phase) finish(exited <-chan syscall.WaitStatus, began time.Time, oomBefore int64) {
	status := <-exited
	close(ph.ended)
	wall := time.Since(began)
	full := diskFull(writable)
	drained := make(chan struct{})
	go func() { ph.pumps.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(time.Duration(ph.request.DrainMs) * time.Millisecond):
	}
	ph.procs.reap()
	ooms := oomKills() - oomBefore
	beside := ph.wasBeside()
	stray := ph.signalRest(0) == nil
	ph.sweep(sweepLimit)
	// A process that could not be killed, or of another phase, may hold a pipe for ever. What is in it now still
	// comes, however slowly the host takes it.
	ph.cutOutput()
	<-drained
	spent := ph.used()
	report := exitReport{
		ID: ph.request.ID, Phase: ph.request.Phase, UserMicros: spent.userMicros, SystemMicros: spent.systemMicros,
		MaxRssBytes: spent.maxRssBytes, WallMicros: wall.Microseconds(), OomKills: ooms, Beside: beside, Stray: stray,
		CPUExceeded: ph.cpuExceeded.Load(), DiskFull: full,
	}
	if status.Signaled() {
		number := int(status.Signal())
		report.Signal = &number
	} else {
		code := status.ExitStatus()
		report.Code = &code
	}
	ph.output[0].Close()
	ph.output[1].Close()
	close(ph.over)
	_ = ph.out.report(frameExit, report)
}

func (ph *phase) cutOutput() {
	now := time.Now()
	_ = errors.Join(ph.output[0].SetReadDeadline(now), ph.output[1].SetReadDeadline(now))
}

// pipes makes the program's ends (blocking, index 0 to 2) and ours (polled, no thread waits).
func pipes() (theirs [3]int, ours [3]*os.File, err error) {
	theirs, raw, err := rawPipes()
	for i, fd := range raw {
		if err == nil {
			err = syscall.SetNonblock(fd, true)
		}
		ours[i] = os.NewFile(uintptr(fd), "pipe")
	}
	return theirs, ours, err
}

func rawPipes() (theirs, ours [3]int, err error) {
	for i := range theirs {
		var pair [2]int
		if err = syscall.Pipe2(pair[:], syscall.O_CLOEXEC); err != nil {
			return theirs, ours, err
		}
		theirs[i], ours[i] = pair[1], pair[0]
		if i == 0 {
			theirs[i], ours[i] = pair[0], pair[1]
		}
	}
	return theirs, ours, nil
}

func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}
