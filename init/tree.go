package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// Numbers of fcntl.h that package syscall lacks; the same on both architectures.
const (
	openPath     = 0x200000 // O_PATH
	removeFolder = 0x200    // AT_REMOVEDIR

	atSymlinkNofollow = 0x100
)

// folder is a directory that is held, not named. Names below it are single components and no link is ever followed,
// so that nothing a program does to the tree leads elsewhere. os.Root is not enough: gVisor follows a link despite
// O_NOFOLLOW where O_DIRECTORY stands beside it.
type folder struct{ fd int }

func openFolder(name string) (folder, error) {
	fd, err := syscall.Open(name, openPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	return folder{fd}, err
}

func (f folder) close() { _ = syscall.Close(f.fd) }

func (f folder) open(name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := syscall.Openat(f.fd, name, flags|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, mode)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// kindOf is the S_IFMT part of an entry's mode.
func (f folder) kindOf(name string) (uint32, error) {
	fd, err := f.open(name, openPath, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	err = syscall.Fstat(fd, &stat)
	return stat.Mode & syscall.S_IFMT, err
}

// enter holds a folder below. ELOOP is a link, ENOTDIR anything else that is no folder.
func (f folder) enter(name string) (folder, error) {
	fd, err := f.open(name, openPath, 0)
	if err != nil {
		return folder{-1}, err
	}
	var stat syscall.Stat_t
	if err = syscall.Fstat(fd, &stat); err == nil {
		switch stat.Mode & syscall.S_IFMT {
		case syscall.S_IFDIR:
			return folder{fd}, nil
		case syscall.S_IFLNK:
			err = syscall.ELOOP
		default:
			err = syscall.ENOTDIR
		}
	}
	syscall.Close(fd)
	return folder{-1}, err
}

// entries are in no order.
func (f folder) entries() ([]os.DirEntry, error) {
	fd, err := f.open(".", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	handle := os.NewFile(uintptr(fd), "/proc/self/fd/"+strconv.Itoa(fd))
	defer handle.Close()
	return handle.ReadDir(-1)
}

// regular opens a file for reading; EINVAL is one of another kind.
func (f folder) regular(name string) (int, syscall.Stat_t, error) {
	var stat syscall.Stat_t
	fd, err := f.open(name, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return -1, stat, err
	}
	if err = syscall.Fstat(fd, &stat); err == nil && stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
		err = syscall.EINVAL
	}
	if err != nil {
		syscall.Close(fd)
	}
	return fd, stat, err
}

// make makes a folder of that owner; 0 leaves it to this process's user.
func (f folder) make(name string, owner int) error {
	err := syscall.Mkdirat(f.fd, name, 0o755)
	if err == nil && owner != 0 {
		return syscall.Fchownat(f.fd, name, owner, owner, atSymlinkNofollow)
	}
	return err
}

// below goes down a clean relative path, and makes what is missing where `owner` is not negative.
func (f folder) below(directory string, owner int) (folder, error) {
	here, err := f.enter(".")
	if err != nil || directory == "." {
		return here, err
	}
	for part := range strings.SplitSeq(directory, "/") {
		next, err := here.enter(part)
		if err == syscall.ENOENT && owner >= 0 {
			if err = here.make(part, owner); err == nil {
				next, err = here.enter(part)
			}
		}
		here.close()
		if err != nil {
			return folder{-1}, err
		}
		here = next
	}
	return here, nil
}

func (f folder) remove(name string, flags uintptr) error {
	text, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall(syscall.SYS_UNLINKAT, uintptr(f.fd), uintptr(unsafe.Pointer(text)), flags)
	if errno != 0 {
		return errno
	}
	return nil
}

// replace gives a file another name. What has that name gives way, unless it is a folder with anything but folders.
func (f folder) replace(name, with string) error {
	err := syscall.Renameat(f.fd, with, f.fd, name)
	if err != syscall.EISDIR && err != syscall.EEXIST {
		return err
	}
	if err := f.removeHollow(name, maxDepth); err != nil {
		return err
	}
	return syscall.Renameat(f.fd, with, f.fd, name)
}

// removeHollow removes a folder in which there are only folders.
func (f folder) removeHollow(name string, depth int) error {
	err := f.remove(name, removeFolder)
	if err != syscall.ENOTEMPTY || depth == 0 {
		return err
	}
	inner, err := f.enter(name)
	if err != nil {
		return err
	}
	defer inner.close()
	entries, err := inner.entries()
	if err != nil {
		return err
	}
	for _, item := range entries {
		if !item.IsDir() {
			return syscall.ENOTEMPTY
		}
	}
	for _, item := range entries {
		if err := inner.removeHollow(item.Name(), depth-1); err != nil {
			return err
		}
	}
	return f.remove(name, removeFolder)
}
