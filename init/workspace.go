package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"
)

const (
	maxPathBytes = 1024
	maxDepth     = 64
)

type fileHeader struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Exec bool   `json:"exec"`
	// Ephemeral files (the program itself) never appear in a change set.
	Ephemeral bool `json:"ephemeral"`
}

// entry is what the workspace held when it was last in step with the host.
type entry struct {
	sum       [sha256.Size]byte
	size      int64
	exec      bool
	ephemeral bool
	inode     uint64
	ctime     syscall.Timespec
}

// workspace is one directory. Every access goes through os.Root, so that a symlink the program left
// behind leads nowhere outside.
type workspace struct {
	root *os.Root
	base map[string]entry
	// owner gets every file and folder that is made; 0 leaves them to this process's user.
	owner int

	open    *os.File
	header  fileHeader
	left    int64
	summing hash.Hash
}

func openWorkspace(directory string) (*workspace, error) {
	root, err := os.OpenRoot(directory)
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

// begin starts a file; exactly header.Size bytes must follow through data.
func (w *workspace) begin(header fileHeader) error {
	if w.open != nil {
		return errors.New("the file before is not complete")
	}
	if err := checkPath(header.Path); err != nil {
		return err
	}
	if header.Size < 0 {
		return errors.New("size is negative")
	}
	if err := w.makeParents(path.Dir(header.Path)); err != nil {
		return err
	}
	if _, err := w.root.Lstat(header.Path); err == nil {
		if err := w.root.Remove(header.Path); err != nil {
			return err
		}
	}
	mode := os.FileMode(0o644)
	if header.Exec {
		mode = 0o755
	}
	file, err := w.root.OpenFile(header.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	if err := w.handOver(file); err != nil {
		file.Close()
		return err
	}
	w.open, w.header, w.left, w.summing = file, header, header.Size, sha256.New()
	return w.finishIfComplete()
}

func (w *workspace) data(payload []byte) error {
	if w.open == nil || int64(len(payload)) > w.left {
		return errors.New("more bytes than the file announced")
	}
	if _, err := w.open.Write(payload); err != nil {
		return err
	}
	w.summing.Write(payload)
	w.left -= int64(len(payload))
	return w.finishIfComplete()
}

func (w *workspace) finishIfComplete() error {
	if w.left > 0 {
		return nil
	}
	file := w.open
	w.open = nil
	info, err := file.Stat()
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	known := entryOf(info)
	known.ephemeral = w.header.Ephemeral
	w.summing.Sum(known.sum[:0])
	w.base[w.header.Path] = known
	return nil
}

// delete removes a file that the host's version does not have; one that is gone already is no error.
func (w *workspace) delete(name string) error {
	if err := checkPath(name); err != nil {
		return err
	}
	delete(w.base, name)
	if info, err := w.root.Lstat(name); err != nil || info.IsDir() {
		return nil
	}
	return w.root.Remove(name)
}

func (w *workspace) makeParents(directory string) error {
	if directory == "." {
		return nil
	}
	made := ""
	for part := range strings.SplitSeq(directory, "/") {
		made = path.Join(made, part)
		err := w.root.Mkdir(made, 0o755)
		if err == nil {
			err = w.handOverFolder(made)
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

func (w *workspace) handOverFolder(name string) error {
	if w.owner == 0 {
		return nil
	}
	folder, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer folder.Close()
	return w.handOver(folder)
}

func (w *workspace) handOver(file *os.File) error {
	if w.owner == 0 {
		return nil
	}
	return file.Chown(w.owner, w.owner)
}

func entryOf(info os.FileInfo) entry {
	known := entry{size: info.Size(), exec: info.Mode().Perm()&0o100 != 0}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		known.inode, known.ctime = stat.Ino, stat.Ctim
	}
	return known
}
