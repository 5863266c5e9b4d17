package main

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// Where process 1 is root, which it is only on a kernel of the container's own (gVisor's, which does not know
// PR_SET_DUMPABLE), the program runs as another user without any capability. A pipe belongs to the user that made it
// and can be opened by that one alone, so the program's own process makes its streams: it begins as this binary in the
// mode "launch", sends process 1 the other ends and becomes the program.

const (
	launchMode   = "launch"
	launchSocket = 3
	// launchSeconds bounds how long a launch may take; whoever stops it from inside ends his own program.
	launchSeconds = 10

	prCapbsetDrop  = 24
	lastCapability = 63

	programID = 65534
)

// programUser is who programs run as.
type programUser struct {
	credential *syscall.Credential
	// launcher is the path of this binary.
	launcher string
}

var errLaunch = errors.New("the program's process ended before it began")

// becomeParent empties what a program could get of process 1: its environment, and capabilities by exec. Nothing
// happens where process 1 is not root.
func becomeParent() (*programUser, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if len(os.Environ()) > 0 {
		// What was given at the start stays readable in /proc/1/environ until the next exec.
		return nil, syscall.Exec(self, os.Args, nil)
	}
	for capability := range uintptr(lastCapability + 1) {
		_, _, errno := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, prCapbsetDrop, capability, 0)
		if errno == syscall.EINVAL {
			break
		}
		if errno != 0 {
			return nil, errno
		}
	}
	return &programUser{&syscall.Credential{Uid: programID, Gid: programID, Groups: []uint32{}}, self}, nil
}

// launch is the program's process before it is the program. It never returns.
func launch(argv []string) {
	theirs, ours, err := rawPipes()
	if err == nil {
		rights := syscall.UnixRights(ours[0], ours[1], ours[2])
		err = syscall.Sendmsg(launchSocket, []byte{0}, rights, nil, 0)
	}
	for i, fd := range theirs {
		if err == nil {
			err = syscall.Dup3(fd, i, 0)
		}
	}
	if err == nil {
		syscall.CloseOnExec(launchSocket)
		err = syscall.Exec(argv[0], argv, os.Environ())
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = syscall.EIO
	}
	_, _ = syscall.Write(launchSocket, binary.BigEndian.AppendUint32(nil, uint32(errno)))
	os.Exit(127)
}

// launchAs starts the program as the user of `procs` and gives its streams' other ends.
func (ph *phase) launchAs(start launcher) (int, <-chan syscall.WaitStatus, [3]*os.File, error) {
	var none [3]*os.File
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, none, err
	}
	defer syscall.Close(pair[0])
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		syscall.Close(pair[1])
		return 0, nil, none, err
	}
	defer null.Close()
	pid, exited, err := start(append([]string{ph.procs.user.launcher, launchMode}, ph.request.Argv...), &syscall.ProcAttr{
		Dir:   ph.request.Cwd,
		Env:   ph.request.Env,
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(pair[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Credential: ph.procs.user.credential},
	})
	syscall.Close(pair[1])
	if err != nil {
		return 0, nil, none, err
	}
	ours, err := receiveStreams(pair[0])
	if err == nil {
		return pid, exited, ours, nil
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	<-exited
	ph.procs.forget(pid)
	return 0, nil, none, err
}

// receiveStreams takes the ends of three pipes and waits until the program's process is the program. What it gets is
// not trusted: a neighbour in a session may have written it.
func receiveStreams(socket int) (ours [3]*os.File, err error) {
	limit := syscall.Timeval{Sec: launchSeconds}
	if err = syscall.SetsockoptTimeval(socket, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit); err != nil {
		return ours, err
	}
	fds, err := receiveDescriptors(socket, len(ours))
	if err != nil {
		return ours, err
	}
	for i, fd := range fds {
		if err == nil {
			err = checkStream(fd, i == 0)
		}
		if err == nil {
			err = syscall.SetNonblock(fd, true)
		}
		ours[i] = os.NewFile(uintptr(fd), "pipe")
	}
	if err == nil {
		err = becameProgram(socket)
	}
	if err != nil {
		for _, file := range ours {
			file.Close()
		}
	}
	return ours, err
}

func receiveDescriptors(socket, count int) ([]int, error) {
	var data [1]byte
	space := make([]byte, syscall.CmsgSpace(count*int(unsafe.Sizeof(int32(0)))))
	n, control, _, _, err := syscall.Recvmsg(socket, data[:], space, syscall.MSG_CMSG_CLOEXEC)
	for err == syscall.EINTR {
		// A child that ends interrupts a call that has a time limit, whatever the handler's flags.
		n, control, _, _, err = syscall.Recvmsg(socket, data[:], space, syscall.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errLaunch
	}
	fds := []int{}
	messages, err := syscall.ParseSocketControlMessage(space[:control])
	for i := range messages {
		if some, err := syscall.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, some...)
		}
	}
	if err == nil && len(fds) == count {
		return fds, nil
	}
	for _, fd := range fds {
		syscall.Close(fd)
	}
	return nil, errLaunch
}

// checkStream accepts a pipe that is open in one direction alone.
func checkStream(fd int, written bool) error {
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return err
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if errno != 0 {
		return errno
	}
	wanted := uintptr(syscall.O_RDONLY)
	if written {
		wanted = syscall.O_WRONLY
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFIFO || flags&syscall.O_ACCMODE != wanted {
		return errLaunch
	}
	return nil
}

// becameProgram waits for the end of the socket, which exec closes, or for the error of exec.
func becameProgram(socket int) error {
	var number [4]byte
	for {
		n, err := syscall.Read(socket, number[:])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return nil
		case n < len(number):
			return errLaunch
		}
		return syscall.Errno(binary.BigEndian.Uint32(number[:]))
	}
}
