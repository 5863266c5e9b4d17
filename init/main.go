// Command drover-init is process 1 of every sandbox container. It takes files and commands as frames
// on standard input, runs the untrusted program apart from itself, and answers with frames on
// standard output. Process 1 is not dumpable, so that a program of the same user can neither open its
// descriptors, memory and environment nor trace it. As root, it runs programs as another user.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
)

const (
	prSetDumpable  = 4
	threadsAhead   = 8
	heapLimitBytes = 48 << 20
	workspacePath  = "/workspace"

	exitHostGone = 70
	exitNoSetup  = 71
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == launchMode {
		launch(os.Args[2:])
	}
	user, err := becomeParent()
	if err != nil {
		os.Exit(exitNoSetup)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		os.Exit(exitNoSetup)
	}
	if !confine() {
		os.Exit(exitNoSetup)
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(heapLimitBytes)
	makeThreadsAhead()
	space, err := openWorkspace(workspacePath)
	if err != nil {
		os.Exit(exitNoSetup)
	}
	if user != nil {
		space.owner = int(user.credential.Uid)
	}
	in, out := polled(0, "stdin"), polled(1, "stdout")
	procs := &processes{user: user}
	procs.watchChildren()
	host := &controller{space: space, procs: procs, out: &frameWriter{out: out}, commands: map[uint32]*phase{}}
	if host.serve(in) != nil {
		os.Exit(exitHostGone)
	}
}

// makeThreadsAhead has the runtime make its threads now. Idle threads are kept, and a fork bomb
// that later takes the last of the container's pids can then not bring the runtime down.
func makeThreadsAhead() {
	var all sync.WaitGroup
	for range threadsAhead {
		all.Add(1)
		go func() {
			defer all.Done()
			pause := syscall.Timespec{Nsec: 3_000_000}
			_ = syscall.Nanosleep(&pause, nil)
		}()
	}
	all.Wait()
}

// polled makes a stream wait in the runtime's poller instead of blocking a thread.
func polled(fd int, name string) *os.File {
	if syscall.SetNonblock(fd, true) != nil {
		os.Exit(exitNoSetup)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), name)
}
