package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pidIn waits until a program has written its number there.
func (h *host) pidIn(name string) int {
	h.t.Helper()
	for range 2000 {
		text, _ := os.ReadFile(filepath.Join(h.dir, name))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && strings.HasSuffix(string(text), "\n") {
			return pid
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.t.Fatal("nothing in " + name)
	return 0
}

func lives(pid int) bool {
	s, ok := statOf(pid)
	return ok && s.alive()
}

const daemon = `(setsid sh -c 'echo $$ >daemon; exec sleep 60' &); while [ ! -s daemon ]; do sleep 0.01; done; `

func TestADaemonEndsWithItsCommandWhileAnotherRuns(t *testing.T) {
	h := newHost(t)
	h.command(1, "read line")
	h.command(2, daemon+"echo left")
	if output, ended := h.exits(2); output["out2"] != "left\n" || *ended[2].Code != 0 || !ended[2].Stray {
		t.Fatalf("%q %+v", output, ended)
	}
	if lives(h.pidIn("daemon")) {
		t.Fatal("the daemon lives")
	}
	h.send(frameInputClose, tagged(1, ""))
	h.exits(1)
}

func TestAKillReachesADaemonWhileAnotherRuns(t *testing.T) {
	h := newHost(t)
	h.command(1, "read line")
	h.command(2, daemon+"sleep 60")
	pid := h.pidIn("daemon")
	h.send(frameKill, killRequest{ID: 2, Signal: int(syscall.SIGKILL)})
	h.exits(2)
	if lives(pid) {
		t.Fatal("the daemon lives")
	}
	h.send(frameInputClose, tagged(1, ""))
	h.exits(1)
}

// Nothing tells whose this one is, and it holds both pipes.
func TestADaemonWithAnotherMarkDoesNotHoldTheEnd(t *testing.T) {
	h := newHost(t)
	h.command(1, "read line")
	h.command(2, `echo early; (setsid sh -c 'echo 999 >/proc/self/oom_score_adj; echo $$ >daemon; exec sleep 60' &)
while [ ! -s daemon ]; do sleep 0.01; done; head -c 40000 /dev/zero`)
	output, ended := h.exits(2)
	if len(output["out2"]) != len("early\n")+40000 || *ended[2].Code != 0 {
		t.Fatalf("%d bytes, %+v", len(output["out2"]), ended)
	}
	_ = syscall.Kill(h.pidIn("daemon"), syscall.SIGKILL)
	h.send(frameInputClose, tagged(1, ""))
	h.exits(1)
}

func TestCPUTimeOfADaemonCounts(t *testing.T) {
	h := newHost(t)
	h.command(1, "read line")
	h.send(frameRun, runRequest{ID: 2, Phase: "command", Env: []string{"PATH=/bin:/usr/bin"}, Cwd: h.dir, CPUMillis: 300,
		Argv: []string{"/bin/sh", "-c", "(setsid sh -c 'while :; do :; done' &); sleep 60"}})
	if _, ended := h.exits(2); !ended[2].CPUExceeded {
		t.Fatalf("%+v", ended)
	}
	h.send(frameInputClose, tagged(1, ""))
	h.exits(1)
}

func TestWhatAProgramStoppedStaysStopped(t *testing.T) {
	h := newHost(t)
	h.command(1, `sleep 60 & echo $! >other; kill -STOP $!; while :; do echo x >>log; done`)
	pid := h.pidIn("other")
	for s, _ := statOf(pid); s.state != 'T'; s, _ = statOf(pid) {
		time.Sleep(time.Millisecond)
	}
	log := func() int { text, _ := os.ReadFile(filepath.Join(h.dir, "log")); return len(text) }
	for range 3 {
		h.send(framePause, nil)
		h.send(frameSettle, nil)
		for got := (frame{}); got.kind != frameSettled; {
			got, _ = readFrame(h.from)
		}
		before := log()
		time.Sleep(20 * time.Millisecond)
		if log() != before {
			t.Fatal("it wrote while paused")
		}
		h.send(frameResume, nil)
		for log() == before {
			time.Sleep(time.Millisecond)
		}
		if s, _ := statOf(pid); s.state != 'T' {
			t.Fatalf("it goes on: %c", s.state)
		}
	}
	h.send(frameKill, killRequest{ID: 1, Signal: int(syscall.SIGKILL)})
	h.exits(1)
}

func TestMarksAreAboveWhatTheContainerWasGiven(t *testing.T) {
	for usual, want := range map[int][2]int{-997: {501, 400}, 0: {501, 400}, 650: {651, 250}, 900: {noMark, 0}, 1000: {noMark, 0}} {
		if first, count := (marker{usual: usual}).marks(); first != want[0] || count != want[1] {
			t.Errorf("%d: %d, %d", usual, first, count)
		}
	}
}

func TestACommandTellsThatAnotherOneRanMeanwhile(t *testing.T) {
	h := newHost(t)
	h.command(1, "true")
	if _, ended := h.exits(1); ended[1].Beside {
		t.Fatalf("alone: %+v", ended)
	}
	h.command(2, "read line")
	h.command(3, "true")
	h.exits(3)
	h.send(frameInputClose, tagged(2, ""))
	if _, ended := h.exits(2); !ended[2].Beside {
		t.Fatalf("%+v", ended)
	}
}
