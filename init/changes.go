package main

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"syscall"
	"time"
)

type collectRequest struct {
	MaxFiles int   `json:"max_files"`
	MaxBytes int64 `json:"max_bytes"`
}

type changeReport struct {
	// Op is "put", "delete" or "skip".
	Op     string `json:"op"`
	Path   string `json:"path"`
	Size   int64  `json:"size,omitempty"`
	Exec   bool   `json:"exec,omitempty"`
	Reason string `json:"reason,omitempty"`
}

type changesEndReport struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Skipped counts every entry left out, also those whose report was left out.
	Skipped int `json:"skipped"`
}

// Reasons of "skip".
const (
	skipLink       = "SYMLINK"
	skipSpecial    = "NOT_A_REGULAR_FILE"
	skipName       = "NAME_NOT_ALLOWED"
	skipUnreadable = "UNREADABLE"
	skipBytes      = "OVER_BYTE_LIMIT"
	skipFiles      = "OVER_FILE_LIMIT"
	skipDepth      = "TOO_DEEP"
)

const maxSkipReports = 100

// clockGrain is more than the kernel's coarse clock needs between two file times.
const clockGrain = 25 * time.Millisecond

// collector walks the workspace after the last process of the phase is gone, so nothing moves
// under it.
type collector struct {
	space  *workspace
	out    *frameWriter
	limits collectRequest
	seen   map[string]bool
	next   map[string]entry
	end    changesEndReport
}

// collect reports added, modified and deleted regular files and makes the result the new base.
func (w *workspace) collect(limits collectRequest, out *frameWriter) error {
	c := &collector{space: w, out: out, limits: limits, seen: map[string]bool{}, next: map[string]entry{}}
	if err := c.walk(".", 0); err != nil {
		return err
	}
	gone := []string{}
	for name, known := range w.base {
		if !c.seen[name] && !known.ephemeral {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		if err := out.report(frameChange, changeReport{Op: "delete", Path: name}); err != nil {
			return err
		}
	}
	w.base = c.next
	return out.report(frameChangesEnd, c.end)
}

func (c *collector) walk(directory string, depth int) error {
	handle, err := c.space.root.OpenFile(directory, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return c.skip(directory, skipUnreadable)
	}
	entries, err := handle.ReadDir(-1)
	handle.Close()
	if err != nil {
		return c.skip(directory, skipUnreadable)
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		if a.Name() < b.Name() {
			return -1
		}
		return 1
	})
	for _, item := range entries {
		if err := c.visit(path.Join(directory, item.Name()), item, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) visit(name string, item os.DirEntry, depth int) error {
	switch {
	case checkPath(name) != nil && depth+1 < maxDepth:
		return c.skip(name, skipName)
	case depth+1 >= maxDepth:
		return c.skip(name, skipDepth)
	case item.IsDir():
		return c.walk(name, depth+1)
	case item.Type()&os.ModeSymlink != 0:
		return c.skip(name, skipLink)
	case !item.Type().IsRegular():
		return c.skip(name, skipSpecial)
	}
	return c.regular(name)
}

func (c *collector) regular(name string) error {
	file, err := c.space.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.keep(name)
		return c.skip(name, skipUnreadable)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return c.skip(name, skipSpecial)
	}
	current := entryOf(info)
	known, existed := c.space.base[name]
	if existed && known.ephemeral {
		c.seen[name], c.next[name] = true, known
		return nil
	}
	if existed && known.inode == current.inode && known.ctime == current.ctime {
		c.seen[name], c.next[name] = true, known
		return nil
	}
	if reason := c.overLimit(current.size); reason != "" {
		c.keep(name)
		return c.skip(name, reason)
	}
	if current.sum, err = sumOf(file, current.size); err != nil {
		c.keep(name)
		return c.skip(name, skipUnreadable)
	}
	c.seen[name], c.next[name] = true, current.unlessFresh()
	if existed && known.sum == current.sum && known.size == current.size && known.exec == current.exec {
		return nil
	}
	return c.put(name, file, current)
}

// unlessFresh makes a file that changed within the clock's grain be looked at again next time: a later
// write could carry the same time.
func (e entry) unlessFresh() entry {
	if time.Since(time.Unix(e.ctime.Sec, e.ctime.Nsec)) < clockGrain {
		e.inode = 0
	}
	return e
}

// keep leaves the host's version of a file in place when the new one cannot be taken over: a file
// that is skipped is not a file that was deleted.
func (c *collector) keep(name string) {
	if known, existed := c.space.base[name]; existed {
		c.seen[name], c.next[name] = true, known
	}
}

func (c *collector) overLimit(size int64) string {
	if c.end.Bytes+size > c.limits.MaxBytes {
		return skipBytes
	}
	if c.end.Files >= c.limits.MaxFiles {
		return skipFiles
	}
	return ""
}

func (c *collector) put(name string, file *os.File, current entry) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	report := changeReport{Op: "put", Path: name, Size: current.size, Exec: current.exec}
	if err := c.out.report(frameChange, report); err != nil {
		return err
	}
	c.end.Files++
	c.end.Bytes += current.size
	buffer := make([]byte, dataChunk)
	for left := current.size; left > 0; {
		n, err := io.ReadFull(file, buffer[:min(left, dataChunk)])
		if err != nil {
			return err
		}
		if err := c.out.write(frameChangeData, buffer[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

func (c *collector) skip(name, reason string) error {
	c.end.Skipped++
	if c.end.Skipped > maxSkipReports {
		return nil
	}
	return c.out.report(frameChange, changeReport{Op: "skip", Path: printable(name), Reason: reason})
}

// printable makes any name valid, bounded UTF-8 for a report.
func printable(name string) string {
	quoted := strconv.QuoteToASCII(name[:min(len(name), maxPathBytes)])
	return quoted[1 : len(quoted)-1]
}

func sumOf(file *os.File, size int64) (sum [sha256.Size]byte, err error) {
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(file, size))
	if err == nil && n != size {
		err = errors.New("file changed while it was read")
	}
	hash.Sum(sum[:0])
	return sum, err
}
