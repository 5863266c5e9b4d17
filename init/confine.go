package main

import (
	"runtime"
	"syscall"
	"unsafe"
)

// The engine's own filter stays in force; this one takes away what some versions of it leave: socket families that
// no network namespace confines or that are only attack surface, io_uring, and the system calls of other ABIs,
// whose socketcall(2) no filter can look into.

const (
	seccompSetModeFilter = 1
	seccompFilterTsync   = 1
	seccompAllow         = 0x7fff0000
	seccompErrno         = 0x00050000

	// Offsets in struct seccomp_data, little-endian.
	dataNumber   = 0
	dataArch     = 4
	dataFirstArg = 16

	x32Bit = 0x40000000
)

type abi struct {
	audit   uint32
	seccomp uintptr
}

// Audit numbers of linux/audit.h, call numbers of the two ABIs.
var abis = map[string]abi{
	"amd64": {audit: 0xc000003e, seccomp: 317},
	"arm64": {audit: 0xc00000b7, seccomp: 277},
}

var (
	ioUring         = []uint32{425, 426, 427} // setup, enter, register; the same everywhere
	allowedFamilies = []uint32{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK}
)

func filterFor(native abi) []syscall.SockFilter {
	load := func(offset uint32) syscall.SockFilter {
		return syscall.SockFilter{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, yes, no uint8) syscall.SockFilter {
		return syscall.SockFilter{Code: syscall.BPF_JMP | test | syscall.BPF_K, Jt: yes, Jf: no, K: k}
	}
	answer := func(k uint32) syscall.SockFilter {
		return syscall.SockFilter{Code: syscall.BPF_RET | syscall.BPF_K, K: k}
	}
	noSuchCall := answer(seccompErrno | uint32(syscall.ENOSYS))
	program := []syscall.SockFilter{
		load(dataArch), jump(syscall.BPF_JEQ, native.audit, 1, 0), noSuchCall,
		load(dataNumber), jump(syscall.BPF_JGE, x32Bit, 0, 1), noSuchCall,
	}
	for _, number := range ioUring {
		program = append(program, jump(syscall.BPF_JEQ, number, 0, 1), noSuchCall)
	}
	program = append(program,
		jump(syscall.BPF_JEQ, syscall.SYS_SOCKET, 2, 0), jump(syscall.BPF_JEQ, syscall.SYS_SOCKETPAIR, 1, 0), answer(seccompAllow),
		load(dataFirstArg))
	for _, family := range allowedFamilies {
		program = append(program, jump(syscall.BPF_JEQ, family, 0, 1), answer(seccompAllow))
	}
	return append(program, answer(seccompErrno|uint32(syscall.EAFNOSUPPORT)))
}

// confine puts the filter on every thread of this process, and so on all that it starts. It needs no-new-privileges.
func confine() bool {
	native, known := abis[runtime.GOARCH]
	if !known {
		return false
	}
	filter := filterFor(native)
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	stray, _, errno := syscall.Syscall(native.seccomp, seccompSetModeFilter, seccompFilterTsync, uintptr(unsafe.Pointer(&program)))
	return errno == 0 && stray == 0
}
