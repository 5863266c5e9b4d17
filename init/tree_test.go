package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// yielding sends a file that gives way and tells what became of it: "" or the reason.
func (h *host) yielding(name, content string) string {
	h.t.Helper()
	h.send(frameFile, fileHeader{Path: name, Size: int64(len(content)), Yields: true})
	if content != "" {
		h.send(frameFileData, []byte(content))
	}
	return h.settled(name)
}

func (h *host) settled(name string) (reason string) {
	h.t.Helper()
	h.send(frameSettle, nil)
	for {
		got, err := readFrame(h.from)
		if err != nil {
			h.t.Fatal(err)
		}
		switch got.kind {
		case frameSettled:
			return reason
		case frameRefused:
			var refused refusedReport
			if err := json.Unmarshal(got.payload, &refused); err != nil || refused.Path != name {
				h.t.Fatalf("%+v %v", refused, err)
			}
			reason = refused.Reason
		default:
			h.t.Fatalf("frame %#x %s", got.kind, got.payload)
		}
	}
}

func (h *host) read(name string) string {
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestWhatIsInTheWayOfAFileIsLeftAndTold(t *testing.T) {
	h := newHost(t)
	outside := t.TempDir()
	h.file("file", "kept", false)
	h.shell("ln -s " + outside + " out; mkdir real; ln -s real in; ln -s nowhere broken; mkdir -p full/of; echo x >full/of/it; " +
		"mkfifo pipe; mkdir -p hollow/a/b hollow/c; ln -s " + outside + "/made final")
	for name, want := range map[string]string{
		"out/x": inTheWay, "in/x": inTheWay, "broken/x": inTheWay, "file/x": inTheWay, "pipe/x": inTheWay,
		"full": inTheWay, "full/of": inTheWay, "hollow": "", "final": "", "new/a/b": "", "full/more": "",
	} {
		if got := h.yielding(name, "12345"); got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
	left, _ := os.ReadDir(outside)
	inside, _ := os.ReadDir(filepath.Join(h.dir, "real"))
	if len(left)+len(inside) != 0 {
		t.Fatalf("through a link: %v %v", left, inside)
	}
	for name, want := range map[string]string{"file": "kept", "hollow": "12345", "final": "12345", "full/of/it": "x\n"} {
		if got := h.read(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(h.dir, "*", ".drover-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAFileOfALinkedFolderIsNoDeletion(t *testing.T) {
	h := newHost(t)
	h.shell("mkdir real; ln -s real d")
	h.changes()
	if got := h.yielding("d/f", "another caller's"); got != inTheWay {
		t.Fatal(got)
	}
	if got := h.changes(); len(got) != 1 || got["d"] != "skip:"+skipLink {
		t.Fatalf("%q", got)
	}
}

func TestADeleteGoesThroughNoLink(t *testing.T) {
	h := newHost(t)
	h.file("d/f", "1", false)
	h.shell("mv d real; ln -s real d; ln -s real/f link; mkdir folder; echo 2 >folder/f")
	for _, name := range []string{"d/f", "link", "folder", "no/such", "link/f"} {
		h.send(frameDelete, deleteRequest{Path: name})
		if got := h.settled(name); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if h.read("real/f") != "1" || h.read("link") != "1" || h.read("folder/f") != "2\n" {
		t.Fatal("something else was removed")
	}
}

func TestWhatIsSkippedIsNotDeletedNorWhatIsBelow(t *testing.T) {
	h := newHost(t)
	for _, name := range []string{"d/a", "d/e/b", "f", "p", "g", "h"} {
		h.file(name, "1", false)
	}
	h.shell("rm -r d; ln -s /etc d; rm f; ln -s g f; rm p; mkfifo p; rm h; mkdir h")
	want := map[string]string{"d": "skip:" + skipLink, "f": "skip:" + skipLink, "p": "skip:" + skipSpecial, "h": "delete:"}
	got := h.changes()
	for name, value := range want {
		if got[name] != value || len(got) != len(want) {
			t.Fatalf("%q", got)
		}
	}
	h.shell("rm d f p; mkdir -p d/e; echo 2 >d/a; echo 3 >d/e/b; printf 1 >f")
	if got := h.changes(); len(got) != 3 || got["d/a"] != "put:2\n" || got["d/e/b"] != "put:3\n" || got["p"] != "delete:" {
		t.Fatalf("%q", got)
	}
}

func TestWhatCouldNotBeCollectedIsNotReplaced(t *testing.T) {
	h := newHost(t)
	h.file("big", "1", false)
	h.file("same", "1", false)
	h.shell("echo mine >big; echo mine >new; ln -s big link")
	h.send(frameCollect, collectRequest{MaxFiles: 10, MaxBytes: 1})
	for got := (frame{}); got.kind != frameChangesEnd; {
		got, _ = readFrame(h.from)
	}
	for name, want := range map[string]string{"big": notCollected, "new": notCollected, "same": "", "link": "", "other": ""} {
		if got := h.yielding(name, "theirs"); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	h.send(frameDelete, deleteRequest{Path: "big"})
	if got := h.settled("big"); got != notCollected || h.read("big")+h.read("new") != "mine\nmine\n" {
		t.Fatal(got)
	}
	h.shell("rm new")
	h.changes()
	if got := h.yielding("new", "theirs") + h.yielding("big", "theirs"); got != "" {
		t.Fatal(got)
	}
}

func TestAFolderThatCannotBeReadKeepsItsFiles(t *testing.T) {
	c := &collector{kept: map[string]bool{"d": true}}
	for name, want := range map[string]bool{"d": true, "d/f": true, "d/e/f": true, "de": false, "e/d": false} {
		if c.isKept(name) != want {
			t.Error(name)
		}
	}
	if c := (&collector{kept: map[string]bool{".": true}}); !c.isKept("d/f") || !c.isKept("g") {
		t.Error("what is in a workspace that cannot be read")
	}
}

func TestAWriteThroughAMappingIsAChange(t *testing.T) {
	h := newHost(t)
	if got := h.yielding("mapped", "0000"); got != "" {
		t.Fatal(got)
	}
	file, err := os.OpenFile(filepath.Join(h.dir, "mapped"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	memory, err := syscall.Mmap(int(file.Fd()), 0, 4, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	for _, want := range []string{"1111", "2222", "3333"} {
		copy(memory, want)
		if got := h.changes(); got["mapped"] != "put:"+want {
			t.Fatalf("%q", got)
		}
	}
	if got := h.changes(); len(got) != 0 {
		t.Fatalf("%q", got)
	}
}

func TestAFileThatIsCutWhileItIsReadKeepsItsPlaceInTheFrames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(name, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out bytes.Buffer
	c := &collector{out: &frameWriter{out: &out}, next: map[string]entry{}, buffer: make([]byte, dataChunk)}
	const size = 3 + dataChunk + 5
	if err := c.put("cut", int(file.Fd()), entry{size: size}); err != nil {
		t.Fatal(err)
	}
	got := 0
	for out.Len() > 0 {
		next, err := readFrame(&out)
		if err != nil {
			t.Fatal(err)
		}
		if next.kind == frameChangeData {
			got += len(next.payload)
		}
	}
	if got != size || c.next["cut"].size != -1 {
		t.Fatalf("%d bytes, %+v", got, c.next)
	}
}
