package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

type host struct {
	t     *testing.T
	to    *frameWriter
	from  io.Reader
	ended chan error
	dir   string
}

func newHost(t *testing.T) *host {
	t.Helper()
	return newHostOf(t, 0)
}

func newHostOf(t *testing.T, owner int) *host {
	t.Helper()
	dir := t.TempDir()
	space, err := openWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	space.owner = owner
	inRead, inWrite := io.Pipe()
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, to: &frameWriter{out: inWrite}, from: outRead, ended: make(chan error, 1), dir: dir}
	c := &controller{space: space, procs: testProcesses, out: &frameWriter{out: outWrite}, commands: map[uint32]*phase{}}
	go func() { h.ended <- c.serve(inRead); outWrite.Close() }()
	h.expect(frameReady)
	return h
}

var testProcesses = func() *processes { p := &processes{}; p.watchChildren(); return p }()

func (h *host) send(kind byte, value any) {
	h.t.Helper()
	if raw, ok := value.([]byte); ok || value == nil {
		if err := h.to.write(kind, raw); err != nil {
			h.t.Fatal(err)
		}
	} else if err := h.to.report(kind, value); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) expect(kind byte) frame {
	h.t.Helper()
	got, err := readFrame(h.from)
	if err != nil || got.kind != kind {
		h.t.Fatalf("want frame %#x, got %#x %q %v", kind, got.kind, got.payload, err)
	}
	return got
}

func (h *host) file(path, content string, ephemeral bool) {
	h.send(frameFile, fileHeader{Path: path, Size: int64(len(content)), Ephemeral: ephemeral})
	if content != "" {
		h.send(frameFileData, []byte(content))
	}
}

// finish reads to EXIT and gives both streams.
func (h *host) finish() (stdout, stderr string, exit exitReport) {
	h.t.Helper()
	for {
		got, err := readFrame(h.from)
		if err != nil {
			h.t.Fatal(err)
		}
		switch got.kind {
		case frameStdout:
			stdout += string(got.payload)
		case frameStderr:
			stderr += string(got.payload)
		case frameExit:
			if err := json.Unmarshal(got.payload, &exit); err != nil {
				h.t.Fatal(err)
			}
			return stdout, stderr, exit
		}
	}
}

func (h *host) shell(script string) (string, string, exitReport) {
	h.t.Helper()
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/bin:/usr/bin"}, Cwd: h.dir, DrainMs: 50})
	return h.finish()
}

func (h *host) changes() map[string]string {
	h.t.Helper()
	h.send(frameCollect, collectRequest{MaxFiles: 3, MaxBytes: 100})
	found, last := map[string]string{}, ""
	for {
		got, err := readFrame(h.from)
		if err != nil {
			h.t.Fatal(err)
		}
		switch got.kind {
		case frameChange:
			var change changeReport
			if err := json.Unmarshal(got.payload, &change); err != nil {
				h.t.Fatal(err)
			}
			last = change.Path
			found[last] = change.Op + ":" + change.Reason
		case frameChangeData:
			found[last] += string(got.payload)
		case frameChangesEnd:
			return found
		}
	}
}

func TestRunReportsStreamsAndExit(t *testing.T) {
	h := newHost(t)
	h.file("in/data.txt", "42\n", false)
	stdout, stderr, exit := h.shell("cat in/data.txt; printf oops >&2; exit 7")
	if stdout != "42\n" || stderr != "oops" || exit.Code == nil || *exit.Code != 7 {
		t.Fatalf("%q %q %+v", stdout, stderr, exit)
	}
	h.send(frameShutdown, nil)
	h.expect(frameDone)
	if err := <-h.ended; err != nil {
		t.Fatal(err)
	}
}

func TestSignalsAreToldApartFromCodes(t *testing.T) {
	h := newHost(t)
	if _, _, exit := h.shell("kill -SEGV $$"); exit.Signal == nil || *exit.Signal != int(syscall.SIGSEGV) {
		t.Fatalf("%+v", exit)
	}
	if _, _, exit := h.shell("exit 139"); exit.Code == nil || *exit.Code != 139 {
		t.Fatalf("%+v", exit)
	}
}

func TestMissingProgramIsAnExitWithAnError(t *testing.T) {
	h := newHost(t)
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/no/such"}, Cwd: h.dir})
	if _, _, exit := h.finish(); exit.Error == "" || exit.Code != nil {
		t.Fatalf("%+v", exit)
	}
}

func TestKillEndsAProgramThatIgnoresTerm(t *testing.T) {
	h := newHost(t)
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"}, Cwd: h.dir, DrainMs: 50})
	h.expect(frameStarted)
	h.expect(frameStdout)
	h.send(frameKill, killRequest{Signal: int(syscall.SIGTERM)})
	h.send(frameKill, killRequest{Signal: int(syscall.SIGKILL)})
	if _, _, exit := h.finish(); exit.Signal == nil || *exit.Signal != int(syscall.SIGKILL) {
		t.Fatalf("%+v", exit)
	}
}

func TestABackgroundProcessDoesNotHoldTheEnd(t *testing.T) {
	h := newHost(t)
	began := time.Now()
	stdout, _, exit := h.shell("sleep 60 & echo done")
	if stdout != "done\n" || *exit.Code != 0 || time.Since(began) > 5*time.Second {
		t.Fatalf("%q %+v after %v", stdout, exit, time.Since(began))
	}
}

func TestInputIsPassedAcknowledgedAndClosed(t *testing.T) {
	h := newHost(t)
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/bin/cat"}, Cwd: h.dir, DrainMs: 50})
	h.expect(frameStarted)
	h.send(frameStdin, []byte("no newline"))
	h.send(frameStdinClose, nil)
	if stdout, _, exit := h.finish(); stdout != "no newline" || *exit.Code != 0 {
		t.Fatalf("%q %+v", stdout, exit)
	}
}

func TestAProgramThatNeverReadsDoesNotBlockKill(t *testing.T) {
	h := newHost(t)
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/bin/sleep", "60"}, Cwd: h.dir, DrainMs: 50})
	h.expect(frameStarted)
	acks := make(chan frame, 16)
	go func() {
		for {
			got, err := readFrame(h.from)
			if err != nil {
				return
			}
			acks <- got
		}
	}()
	for range stdinWindow {
		h.send(frameStdin, make([]byte, dataChunk))
	}
	h.send(frameKill, killRequest{Signal: int(syscall.SIGKILL)})
	for timeout := time.After(5 * time.Second); ; {
		select {
		case got := <-acks:
			if got.kind == frameExit {
				return
			}
		case <-timeout:
			t.Fatal("no EXIT")
		}
	}
}

func TestChangesAreAddedModifiedDeletedAndFiltered(t *testing.T) {
	h := newHost(t)
	h.file("same", "same", false)
	h.file("edit", "old", false)
	h.file("gone", "x", false)
	h.file("main.sh", "code", true)
	_, stderr, _ := h.shell("echo new >edit; echo same | tr -d '\\n' >same; rm gone; mkdir d; echo hi >d/added; " +
		"ln -s /etc/passwd link; mkfifo pipe; echo z >main.sh; printf 'bad' >\"$(printf 'n\\377')\"; head -c 200 /dev/zero >big")
	got := h.changes()
	want := map[string]string{
		"edit": "put:new\n", "gone": "delete:", "d/added": "put:hi\n", "link": "skip:" + skipLink,
		"pipe": "skip:" + skipSpecial, `n\xff`: "skip:" + skipName, "big": "skip:" + skipBytes,
	}
	if len(got) != len(want) {
		t.Errorf("%d changes, want %d: %q %s", len(got), len(want), got, stderr)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: got %q, want %q", name, got[name], value)
		}
	}
	if again := h.changes(); again["edit"] != "" || again["gone"] != "" {
		t.Errorf("collected twice: %q", again)
	}
}

func TestFilesCannotLeaveTheWorkspace(t *testing.T) {
	outside := t.TempDir()
	for _, name := range []string{"../x", "/x", "a/../../x", "a//b", "./a", "", "a/", "a\x00b", strings.Repeat("d/", maxDepth) + "x"} {
		h := newHost(t)
		h.send(frameFile, fileHeader{Path: name})
		h.expect(frameFault)
		if err := <-h.ended; err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	h := newHost(t)
	if err := os.Symlink(outside, filepath.Join(h.dir, "door")); err != nil {
		t.Fatal(err)
	}
	h.send(frameFile, fileHeader{Path: "door/x"})
	h.expect(frameFault)
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Fatal("a file went through the link")
	}
}

func TestRequestsDuringAPhaseAreRefused(t *testing.T) {
	h := newHost(t)
	h.send(frameRun, runRequest{Phase: "run", Argv: []string{"/bin/sleep", "60"}, Cwd: h.dir, DrainMs: 50})
	h.expect(frameStarted)
	h.send(frameCollect, collectRequest{})
	h.expect(frameFault)
	h.send(frameKill, killRequest{Signal: 9})
	h.finish()
}

func TestFramesAreBoundedAndWhole(t *testing.T) {
	if _, err := readFrame(strings.NewReader("\x01\xff\xff\xff\xff")); err != errFrameTooLarge {
		t.Fatal(err)
	}
	if _, err := readFrame(strings.NewReader("\x01\x00\x00\x00\x05abc")); err != io.ErrUnexpectedEOF {
		t.Fatal(err)
	}
	if _, err := readFrame(strings.NewReader("")); err != io.EOF {
		t.Fatal(err)
	}
}

func TestOomKillsAreReadFromBothCgroupVersions(t *testing.T) {
	if n := parseOomKills("low 0\noom 3\noom_kill 2\noom_group_kill 0\n"); n != 2 {
		t.Error(n)
	}
	if n := parseOomKills("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"); n != 5 {
		t.Error(n)
	}
}
