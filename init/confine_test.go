package main

import (
	"runtime"
	"syscall"
	"testing"
)

// decide runs the filter as the kernel would.
func decide(t *testing.T, filter []syscall.SockFilter, arch, number, firstArg uint32) uint32 {
	t.Helper()
	var loaded uint32
	for at := 0; at < len(filter); at++ {
		step := filter[at]
		taken := false
		switch step.Code {
		case syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS:
			loaded = map[uint32]uint32{dataArch: arch, dataNumber: number, dataFirstArg: firstArg}[step.K]
			continue
		case syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K:
			taken = loaded == step.K
		case syscall.BPF_JMP | syscall.BPF_JGE | syscall.BPF_K:
			taken = loaded >= step.K
		case syscall.BPF_RET | syscall.BPF_K:
			return step.K
		default:
			t.Fatalf("unknown code %#x", step.Code)
		}
		if taken {
			at += int(step.Jt)
		} else {
			at += int(step.Jf)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

func TestFilterDecides(t *testing.T) {
	native := abis[runtime.GOARCH]
	filter := filterFor(native)
	refused := func(errno syscall.Errno) uint32 { return seccompErrno | uint32(errno) }
	const i386, vsock, alg, packet, high = 0x40000003, 40, 38, 17, 1 << 31
	for _, c := range []struct {
		name              string
		arch, number, arg uint32
		want              uint32
	}{
		{"read", native.audit, syscall.SYS_READ, 0, seccompAllow},
		{"clone", native.audit, syscall.SYS_CLONE, 0, seccompAllow},
		{"unix", native.audit, syscall.SYS_SOCKET, syscall.AF_UNIX, seccompAllow},
		{"inet pair", native.audit, syscall.SYS_SOCKETPAIR, syscall.AF_INET, seccompAllow},
		{"inet6", native.audit, syscall.SYS_SOCKET, syscall.AF_INET6, seccompAllow},
		{"netlink", native.audit, syscall.SYS_SOCKET, syscall.AF_NETLINK, seccompAllow},
		{"vsock", native.audit, syscall.SYS_SOCKET, vsock, refused(syscall.EAFNOSUPPORT)},
		{"vsock pair", native.audit, syscall.SYS_SOCKETPAIR, vsock, refused(syscall.EAFNOSUPPORT)},
		{"alg", native.audit, syscall.SYS_SOCKET, alg, refused(syscall.EAFNOSUPPORT)},
		{"packet", native.audit, syscall.SYS_SOCKET, packet, refused(syscall.EAFNOSUPPORT)},
		{"no family", native.audit, syscall.SYS_SOCKET, high, refused(syscall.EAFNOSUPPORT)},
		{"io_uring_setup", native.audit, 425, 0, refused(syscall.ENOSYS)},
		{"io_uring_register", native.audit, 427, 0, refused(syscall.ENOSYS)},
		{"another ABI", i386, syscall.SYS_READ, 0, refused(syscall.ENOSYS)},
		{"x32", native.audit, x32Bit | syscall.SYS_READ, 0, refused(syscall.ENOSYS)},
	} {
		if got := decide(t, filter, c.arch, c.number, c.arg); got != c.want {
			t.Errorf("%s: got %#x, want %#x", c.name, got, c.want)
		}
	}
}
