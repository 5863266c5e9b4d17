package main

import (
	"crypto/sha256"
	"errors"
	"hash"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// collector walks the workspace while nothing moves under it: after the last process of a phase is gone, or while all
// of a session stand still. What changed is known by content alone. No time of a file tells: a write through a mapping
// sets none on gVisor, and none on Linux once the page is there.
type collector struct {
	space  *workspace
	out    *frameWriter
	limits collectRequest
	seen   map[string]bool
	// kept are the entries that were left out; of a folder, all below is. hidden are those of them that may be or hold
	// files whose content the host does not know.
	kept    map[string]bool
	hidden  map[string]bool
	next    map[string]entry
	end     changesEndReport
	read    int64
	summing hash.Hash
	buffer  []byte
}

// collect reports added, modified and deleted regular files and makes the result the new base.
func (w *workspace) collect(limits collectRequest, out *frameWriter) error {
	c := &collector{space: w, out: out, limits: limits, seen: map[string]bool{}, kept: map[string]bool{}, hidden: map[string]bool{},
		next: make(map[string]entry, len(w.base)), summing: sha256.New(), buffer: make([]byte, dataChunk)}
	if err := c.walk(w.root, ".", ".", 0); err != nil {
		return err
	}
	gone := []string{}
	for name, known := range w.base {
		switch {
		case c.seen[name]:
		case c.isKept(name):
			c.next[name] = known
		case !known.ephemeral:
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		if err := out.report(frameChange, changeReport{Op: "delete", Path: name}); err != nil {
			return err
		}
	}
	w.base, w.hidden = c.next, c.hidden
	return out.report(frameChangesEnd, c.end)
}

// isKept tells a file that cannot be seen, because it or a folder above it was left out: not one that was deleted.
func (c *collector) isKept(name string) bool { return holds(c.kept, name) }

// holds tells that a path or a folder above it is in the set.
func holds(set map[string]bool, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if set[name] {
			return true
		}
	}
	return set["."]
}

// walk visits what is in the folder `name` of `parent`, which is `directory` of the workspace.
func (c *collector) walk(parent folder, name, directory string, depth int) error {
	here, err := parent.enter(name)
	if err != nil {
		return c.skip(directory, unseen(err))
	}
	defer here.close()
	entries, err := here.entries()
	if err != nil {
		return c.skip(directory, skipUnreadable)
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, item := range entries {
		if err := c.visit(here, path.Join(directory, item.Name()), item, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) visit(parent folder, name string, item os.DirEntry, depth int) error {
	switch {
	case checkPath(name) != nil && depth+1 < maxDepth:
		return c.skip(name, skipName)
	case depth+1 >= maxDepth:
		return c.skip(name, skipDepth)
	case item.IsDir():
		return c.walk(parent, item.Name(), name, depth+1)
	case item.Type()&os.ModeSymlink != 0:
		return c.skip(name, skipLink)
	case !item.Type().IsRegular():
		return c.skip(name, skipSpecial)
	}
	return c.regular(parent, name)
}

func (c *collector) regular(parent folder, name string) error {
	known, existed := c.space.base[name]
	if existed && known.ephemeral {
		c.seen[name], c.next[name] = true, known
		return nil
	}
	fd, stat, err := parent.regular(path.Base(name))
	if err != nil {
		return c.skip(name, unseen(err))
	}
	defer syscall.Close(fd)
	current := entry{size: stat.Size, exec: stat.Mode&0o100 != 0}
	// Only what has the size it had can be the same file, and is no change to count yet.
	same := existed && known.size == current.size
	if reason := c.overLimit(current.size); reason != "" && !same {
		return c.skip(name, reason)
	}
	if c.read += current.size; c.read > 2*c.limits.MaxBytes {
		return c.skip(name, skipBytes)
	}
	if current.sum, err = c.sumOf(fd, current.size); err != nil {
		return c.skip(name, skipUnreadable)
	}
	if same && known.sum == current.sum && known.exec == current.exec {
		c.seen[name], c.next[name] = true, known
		return nil
	}
	if reason := c.overLimit(current.size); reason != "" {
		return c.skip(name, reason)
	}
	c.seen[name], c.next[name] = true, current
	return c.put(name, fd, current)
}

// unseen is why an entry was left out that could not be opened.
func unseen(err error) string {
	switch err {
	case syscall.ELOOP:
		return skipLink
	case syscall.EINVAL, syscall.ENOTDIR, syscall.ENXIO:
		return skipSpecial
	}
	return skipUnreadable
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

func (c *collector) put(name string, fd int, current entry) error {
	if _, err := syscall.Seek(fd, 0, 0); err != nil {
		return err
	}
	report := changeReport{Op: "put", Path: name, Size: current.size, Exec: current.exec}
	if err := c.out.report(frameChange, report); err != nil {
		return err
	}
	c.end.Files++
	c.end.Bytes += current.size
	err := c.each(fd, current.size, func(piece []byte) error { return c.out.write(frameChangeData, piece) })
	var torn *tornFile
	if !errors.As(err, &torn) {
		return err
	}
	// It was cut by what did not stand still. What was announced must follow, and the next time tells what it is.
	c.next[name] = entry{size: -1}
	clear(c.buffer)
	for left := torn.missing; left > 0; left -= min(left, dataChunk) {
		if err := c.out.write(frameChangeData, c.buffer[:min(left, dataChunk)]); err != nil {
			return err
		}
	}
	return nil
}

// tornFile is a file that ended before its size.
type tornFile struct{ missing int64 }

func (t *tornFile) Error() string { return "file changed while it was read" }

// each passes on exactly so many bytes.
func (c *collector) each(fd int, size int64, take func([]byte) error) error {
	for left := size; left > 0; {
		n, err := syscall.Read(fd, c.buffer[:min(left, dataChunk)])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return &tornFile{left}
		}
		if err := take(c.buffer[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

func (c *collector) skip(name, reason string) error {
	c.kept[name] = true
	c.hidden[name] = reason == skipUnreadable || reason == skipBytes || reason == skipFiles
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

func (c *collector) sumOf(fd int, size int64) (sum [sha256.Size]byte, err error) {
	c.summing.Reset()
	err = c.each(fd, size, func(piece []byte) error { c.summing.Write(piece); return nil })
	c.summing.Sum(sum[:0])
	return sum, err
}
