package main

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"
)

const (
	maxPathBytes = 1024
	maxDepth     = 64
	// makeNothing stands for an owner where folders are only looked for.
	makeNothing = -1
)

type fileHeader struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Exec bool   `json:"exec"`
	// Ephemeral files (the program itself) never appear in a change set.
	Ephemeral bool `json:"ephemeral"`
	// Yields makes a file that does not fit what is there be REFUSED alone; without it FAULT ends the session.
	Yields bool `json:"yields"`
}

// entry is what the workspace held when it was last in step with the host.
type entry struct {
	sum       [sha256.Size]byte
	size      int64
	exec      bool
	ephemeral bool
}

// workspace is one directory. Every access goes through folder, so that a symlink the program left behind leads
// nowhere.
type workspace struct {
	root folder
	base map[string]entry
	// hidden is what the last collection could not take: the host never saw it, so nothing it sends takes its place.
	hidden map[string]bool
	// owner gets every file and folder that is made; 0 leaves them to this process's user.
	owner int
	file  *incoming
}

// incoming is a file on its way in. It has a name of its own until it is whole, so that what it replaces stays when
// there is no room for it.
type incoming struct {
	header    fileHeader
	parent    folder
	fd        int
	temporary string
	left      int64
	summing   hash.Hash
	// refused tells that the bytes that still come are dropped.
	refused bool
}

// refusal is a file that does not fit what programs left in the workspace.
type refusal struct {
	path   string
	yields bool
	cause  error
}

func (r *refusal) Error() string { return r.cause.Error() }

func openWorkspace(directory string) (*workspace, error) {
	root, err := openFolder(directory)
	if err != nil {
		return nil, err
	}
	return &workspace{root: root, base: map[string]entry{}}, nil
}

// checkPath accepts only clean relative POSIX paths.
func checkPath(name string) error {
	switch {
	case name == "" || name == ".":
		return errors.New("path is empty")
	case len(name) > maxPathBytes:
		return fmt.Errorf("path is longer than %d bytes", maxPathBytes)
	case !utf8.ValidString(name):
		return errors.New("path is not UTF-8")
	case strings.ContainsRune(name, 0):
		return errors.New("path holds a NUL")
	case strings.HasPrefix(name, "/"):
		return errors.New("path is absolute")
	case path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../"):
		return errors.New("path is not a clean path below the workspace")
	case strings.Count(name, "/") >= maxDepth:
		return fmt.Errorf("path is deeper than %d levels", maxDepth)
	}
	return nil
}

// begin starts a file; exactly header.Size bytes must follow through data, also after a refusal that yields.
func (w *workspace) begin(header fileHeader) error {
	if w.file != nil {
		return errors.New("the file before is not complete")
	}
	if header.Size < 0 {
		return errors.New("size is negative")
	}
	w.file = &incoming{header: header, fd: -1, parent: folder{-1}, left: header.Size, summing: sha256.New()}
	if err := w.file.open(w); err != nil {
		return w.giveUp(err)
	}
	return w.finishIfComplete()
}

func (in *incoming) open(w *workspace) error {
	if err := checkPath(in.header.Path); err != nil {
		return err
	}
	var err error
	if in.parent, err = w.root.below(path.Dir(in.header.Path), w.owner); err != nil {
		return err
	}
	if err = w.spare(in.parent, in.header.Path); err != nil {
		return err
	}
	mode := uint32(0o644)
	if in.header.Exec {
		mode = 0o755
	}
	name := ".drover-" + rand.Text()
	if in.fd, err = in.parent.open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, mode); err != nil {
		return err
	}
	in.temporary = name
	if w.owner == 0 {
		return nil
	}
	return syscall.Fchown(in.fd, w.owner, w.owner)
}

func (w *workspace) data(payload []byte) error {
	in := w.file
	if in == nil || int64(len(payload)) > in.left {
		return errors.New("more bytes than the file announced")
	}
	in.left -= int64(len(payload))
	if !in.refused {
		in.summing.Write(payload)
		if err := in.write(payload); err != nil {
			return w.giveUp(err)
		}
	}
	return w.finishIfComplete()
}

func (in *incoming) write(payload []byte) error {
	for len(payload) > 0 {
		n, err := syscall.Write(in.fd, payload)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		payload = payload[n:]
	}
	return nil
}

func (w *workspace) finishIfComplete() error {
	in := w.file
	if in.left > 0 {
		return nil
	}
	if in.refused {
		w.file = nil
		return nil
	}
	known := entry{size: in.header.Size, exec: in.header.Exec, ephemeral: in.header.Ephemeral}
	in.summing.Sum(known.sum[:0])
	if err := in.parent.replace(path.Base(in.header.Path), in.temporary); err != nil {
		return w.giveUp(err)
	}
	in.release()
	w.base[in.header.Path] = known
	w.file = nil
	return nil
}

// giveUp leaves what is there as it is.
func (w *workspace) giveUp(cause error) error {
	in := w.file
	if in.temporary != "" {
		_ = in.parent.remove(in.temporary, 0)
	}
	in.release()
	in.refused = true
	if in.left == 0 {
		w.file = nil
	}
	return &refusal{in.header.Path, in.header.Yields, cause}
}

func (in *incoming) release() {
	if in.fd >= 0 {
		_ = syscall.Close(in.fd)
	}
	if in.parent.fd >= 0 {
		in.parent.close()
	}
	in.fd, in.parent = -1, folder{-1}
}

// delete removes a file that the host's version does not have; one that is gone, or something else by now, is no
// error.
func (w *workspace) delete(name string) error {
	err := checkPath(name)
	if err == nil {
		err = w.deleteRegular(name)
	}
	switch err {
	case nil, syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP:
		delete(w.base, name)
		return nil
	}
	return &refusal{name, true, err}
}

func (w *workspace) deleteRegular(name string) error {
	parent, err := w.root.below(path.Dir(name), makeNothing)
	if err != nil {
		return err
	}
	defer parent.close()
	kind, err := parent.kindOf(path.Base(name))
	if err != nil || kind != syscall.S_IFREG {
		return err
	}
	if err = w.spare(parent, name); err != nil {
		return err
	}
	return parent.remove(path.Base(name), 0)
}

// spare is an error where a file is in the folder whose content the host does not know.
func (w *workspace) spare(parent folder, name string) error {
	if !holds(w.hidden, name) {
		return nil
	}
	if kind, err := parent.kindOf(path.Base(name)); err != nil || kind != syscall.S_IFREG {
		return nil
	}
	return errHidden
}

var errHidden = errors.New("a file that could not be collected is there")

// Reasons of REFUSED.
const (
	noRoom       = "NO_ROOM"
	forbidden    = "FORBIDDEN"
	inTheWay     = "IN_THE_WAY"
	notCollected = "NOT_COLLECTED"
)

func (r *refusal) reason() string {
	switch r.cause {
	case syscall.ENOSPC, syscall.EDQUOT:
		return noRoom
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		return forbidden
	case errHidden:
		return notCollected
	}
	return inTheWay
}
