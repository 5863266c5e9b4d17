package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func (h *host) command(id uint32, script string) {
	h.t.Helper()
	h.send(frameRun, runRequest{ID: id, Phase: "command", Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/bin:/usr/bin"}, Cwd: h.dir, DrainMs: 50})
}

// exits reads until all ids have ended; output by id and stream.
func (h *host) exits(ids ...uint32) (map[string]string, map[uint32]exitReport) {
	h.t.Helper()
	output, ended := map[string]string{}, map[uint32]exitReport{}
	for len(ended) < len(ids) {
		got, err := readFrame(h.from)
		if err != nil {
			h.t.Fatal(err)
		}
		switch got.kind {
		case frameTaggedStdout, frameTaggedStderr:
			name := map[byte]string{frameTaggedStdout: "out", frameTaggedStderr: "err"}[got.kind]
			id := strconv.Itoa(int(binary.BigEndian.Uint32(got.payload)))
			output[name+id] += string(got.payload[4:])
		case frameExit:
			var exit exitReport
			if err := json.Unmarshal(got.payload, &exit); err != nil {
				h.t.Fatal(err)
			}
			ended[exit.ID] = exit
		}
	}
	return output, ended
}

func tagged(id uint32, text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, id), text...)
}

func TestCommandsRunBesideEachOther(t *testing.T) {
	h := newHost(t)
	h.command(1, "while [ ! -e go ]; do sleep 0.01; done; echo first; exit 3")
	h.command(2, "echo second; echo two >&2; touch go")
	output, ended := h.exits(1, 2)
	if output["out1"] != "first\n" || output["out2"] != "second\n" || output["err2"] != "two\n" {
		t.Fatalf("%q", output)
	}
	if *ended[1].Code != 3 || *ended[2].Code != 0 {
		t.Fatalf("%+v", ended)
	}
}

func TestAKillHitsItsCommandAlone(t *testing.T) {
	h := newHost(t)
	h.command(1, "trap '' TERM; sleep 60 & echo up; while :; do sleep 1; done")
	h.expect(frameStarted)
	h.expect(frameTaggedStdout)
	h.command(2, "read line; echo got $line")
	h.send(frameKill, killRequest{ID: 1, Signal: int(syscall.SIGTERM)})
	h.send(frameKill, killRequest{ID: 1, Signal: int(syscall.SIGKILL)})
	if _, ended := h.exits(1); ended[1].Signal == nil || *ended[1].Signal != int(syscall.SIGKILL) {
		t.Fatalf("%+v", ended)
	}
	h.send(frameKill, killRequest{ID: 1, Signal: int(syscall.SIGKILL)})
	h.send(frameInput, tagged(2, "input\n"))
	if output, ended := h.exits(2); output["out2"] != "got input\n" || *ended[2].Code != 0 {
		t.Fatalf("%q %+v", output, ended)
	}
}

func TestInputIsClosedForOneCommand(t *testing.T) {
	h := newHost(t)
	h.command(7, "cat")
	h.send(frameInput, tagged(7, "abc"))
	h.send(frameInputClose, tagged(7, ""))
	if output, _ := h.exits(7); output["out7"] != "abc" {
		t.Fatalf("%q", output)
	}
}

func TestWhatACommandLeavesBehindIsKilledWithIt(t *testing.T) {
	h := newHost(t)
	h.command(1, "read line")
	h.command(2, "(sleep 0.5; touch late) & echo done")
	if output, _ := h.exits(2); output["out2"] != "done\n" {
		t.Fatalf("%q", output)
	}
	time.Sleep(700 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(h.dir, "late")); err == nil {
		t.Fatal("it went on")
	}
	h.send(frameInputClose, tagged(1, ""))
	h.exits(1)
}

func TestFilesMoveWhileCommandsStandStill(t *testing.T) {
	h := newHost(t)
	h.file("mine", "1", false)
	h.file("old", "x", false)
	h.command(1, "while [ ! -e stop ]; do echo x >>log; done")
	for {
		if got, _ := os.ReadFile(filepath.Join(h.dir, "log")); len(got) > 10 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	h.send(framePause, nil)
	h.expect(frameStarted)
	h.send(frameCollect, collectRequest{MaxFiles: 10, MaxBytes: 1 << 30})
	h.expect(frameChange)
	for {
		got, err := readFrame(h.from)
		if err != nil {
			t.Fatal(err)
		}
		if got.kind == frameChangesEnd {
			break
		}
	}
	before, _ := os.ReadFile(filepath.Join(h.dir, "log"))
	time.Sleep(20 * time.Millisecond)
	if after, _ := os.ReadFile(filepath.Join(h.dir, "log")); len(after) != len(before) {
		t.Fatal("it wrote while paused")
	}
	h.send(frameDelete, deleteRequest{Path: "old"})
	h.file("stop", "", false)
	h.send(frameResume, nil)
	if _, ended := h.exits(1); *ended[1].Code != 0 {
		t.Fatalf("%+v", ended)
	}
	left, _ := os.ReadDir(h.dir)
	names := []string{}
	for _, entry := range left {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names, " "); got != "log mine stop" {
		t.Fatal(got)
	}
}
